"""The paper's population Monte Carlo: proposals, weights, resampling, adaptation, variants."""
