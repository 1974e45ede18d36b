"""Sessions of real processes: a board, an organiser and parties that are killed and cut off."""
