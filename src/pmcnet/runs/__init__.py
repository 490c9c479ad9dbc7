"""Run folders: a table in, a fitted model with its metrics, predictions, history and report out."""
