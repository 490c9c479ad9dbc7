"""One file per table of the paper, with its figures: the problem, the sizes, its numbers."""
