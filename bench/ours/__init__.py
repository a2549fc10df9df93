"""What is measured: the product, through its public doors."""
