"""p(y | network output): one file for each family."""
