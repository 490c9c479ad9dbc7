"""Ways to fit that other libraries bring; each is there where its library is installed."""
