"""Samplers on mini-batches: stochastic gradient Langevin and Hamiltonian dynamics."""
