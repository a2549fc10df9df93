"""The `report` service: what a replay or a fork showed, as one page, one document and one text."""
