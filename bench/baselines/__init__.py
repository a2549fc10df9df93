"""What the rows are measured against; each module one peer or one floor."""
