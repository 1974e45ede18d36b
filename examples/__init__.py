"""Programs to learn from; figures are made by `python -m examples.NAME FIGURE`."""
