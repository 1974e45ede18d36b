"""Checks of what the project is built from.

Exit codes: 0 in order, 1 something has to change or is known to be vulnerable, 2 wrong usage,
3 could not run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from supply import commands

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Run one command on the tree at `root` and return its exit code."""
    chosen = parser().parse_args(arguments)
    match chosen.command:
        case "locks":
            return commands.locks(root)
        case "licences":
            return commands.licences(root)
        case "advisories":
            return commands.advisories(root, chosen.database)
        case "sbom" if chosen.check:
            return commands.check_sbom(root, chosen.check)
        case "sbom":
            return commands.write_sbom(root, chosen.output)
        case _:
            return commands.everything(root, chosen.database)


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    described = argparse.ArgumentParser(
        prog="python -m supply",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = described.add_subparsers(dest="command", required=True)
    names.add_parser("locks", help="is everything locked, with hashes?")
    names.add_parser("licences", help="may we use everything that is locked?")
    sbom = names.add_parser("sbom", help="write the bill of materials, or compare a file with it")
    where = sbom.add_mutually_exclusive_group()
    where.add_argument("--output", type=Path, help="write here instead of to its place in the tree")
    where.add_argument("--check", type=Path, metavar="FILE", help="compare FILE, write nothing")
    for name, says in (
        ("advisories", "is anything known against the locked versions?"),
        ("all", "everything, as `make supply` does"),
    ):
        command = names.add_parser(name, help=says)
        command.add_argument(
            "--database", type=Path, metavar="FOLDER", help="advisories as OSV files, read offline"
        )
    return described


if __name__ == "__main__":
    sys.exit(main())
