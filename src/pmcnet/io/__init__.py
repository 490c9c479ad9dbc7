"""Files that someone else may have written, read within bounds."""
