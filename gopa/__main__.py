"""`python -m gopa` is the `gopa` command."""

from gopa.cli import main

if __name__ == "__main__":
    main()
