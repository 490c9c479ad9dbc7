"""A fitted model on rows whose truth is known: predictions, scores, and the record of the page."""
