"""Hamiltonian moves: used by `annealed`, and as parallel chains on their own."""
