"""Priors on the flat parameter vector."""
