"""Independent annealed populations, polished and judged by how far they agree."""
