"""Hand-written fast paths, each tested against the plain function that it stands in for."""
