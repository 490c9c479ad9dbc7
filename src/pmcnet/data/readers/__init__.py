"""Files into tables and arrays, within bounds: one file per format, listed in `registry`."""
