"""The `fork` service: a recorded run continued from a point under changes, written as a run of its own."""
