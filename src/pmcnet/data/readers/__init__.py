"""Files into tables and arrays, within bounds."""
