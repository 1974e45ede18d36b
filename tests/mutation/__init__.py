"""Takes checks out of the code, one at a time, and asks whether a test notices."""
