"""Training on mini-batches: the loop, Adam, and where samplers start."""
