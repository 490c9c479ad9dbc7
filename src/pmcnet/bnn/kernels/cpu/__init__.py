"""Kernels compiled by numba for the CPU; importing these modules imports numba."""
