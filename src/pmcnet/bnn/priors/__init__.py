"""Priors of the parameter vector."""
