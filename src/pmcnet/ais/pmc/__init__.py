"""The paper's population Monte Carlo: proposals, weights, resampling, adaptation, and the variants."""
