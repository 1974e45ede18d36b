"""A second verifier of sessions: the specifications as one slow program.

    python specs/verifier/verify.py SESSION.gopa [--anchors FILE] [--trust-embedded] [--since STATE]

It shares no code with the packages. FILE has the anchors of 11-I2, STATE is that of 11-K1. Not
checked here: receipts, coins of drand (INCOMPLETE).

Exit codes: VALID 0, INVALID 1, wrong usage 2, INCOMPLETE 3, a version that is not known 4,
an internal error 5, SIGNED-ONLY 6, no round with a result 7, VALID by the file's own keys 8.
"""

from __future__ import annotations

import sys

USAGE, INTERNAL = 2, 5


def run(arguments: list[str]) -> int:
    """The exit code, whatever happens: 1 says INVALID, so nothing else may leave as 1."""
    try:
        from report import main

        return main(arguments)
    except SystemExit as error:
        if isinstance(error.code, str):
            print(f"verify.py: {error.code}", file=sys.stderr)
        return USAGE if error.code else 0
    except BaseException as error:  # noqa: BLE001 - also when memory runs out, or somebody waits
        print(f"verify.py: internal error: {error!r}", file=sys.stderr)
        return INTERNAL


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
