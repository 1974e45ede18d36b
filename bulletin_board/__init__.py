"""The public bulletin board: a transparency log of signed entries."""
