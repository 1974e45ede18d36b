"""The published vectors of `specs/vectors`: how they are made and that they stay the same."""
