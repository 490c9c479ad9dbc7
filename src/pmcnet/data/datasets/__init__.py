"""Datasets by name: shipped with the package, or read from the data folder."""
