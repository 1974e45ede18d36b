"""Runs the `gopa` command as `python -m gopa`."""

from gopa.cli import main

if __name__ == "__main__":
    main()
