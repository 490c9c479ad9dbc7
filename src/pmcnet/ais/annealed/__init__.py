"""Sequential Monte Carlo from the prior to the posterior: annealed population Monte Carlo."""
