"""What every room uses and no protocol is in: words, rounding, progress, draws, extras."""
