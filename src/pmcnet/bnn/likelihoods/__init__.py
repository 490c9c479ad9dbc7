"""p(y | network output): one file for each family, and a registry of their names."""
