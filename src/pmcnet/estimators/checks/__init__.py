"""Checks of a fitted model: leave-one-out, posterior and prior predictive, residuals."""
