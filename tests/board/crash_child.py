"""A process that appends and says what was acknowledged, to be killed at any system call."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bulletin_board import sequencer as sequencer_module
from bulletin_board.sequencer import Accepted
from bulletin_board.storage import StorageError
from bulletin_board.storage.directory import BoardDirectory
from tests.board.tools import open_log, submissions


def main() -> None:
    """Append entries 250 to 264 in two batches; one byte on stdout for each that is committed."""
    sequencer_module.SYNC_ENTRIES = 1
    sequencer_module.SNAPSHOT_ENTRIES = 1
    log = open_log(BoardDirectory(Path(sys.argv[1])))
    os.getpriority(os.PRIO_PROCESS, 0)  # the mark after which faults are injected
    for start, count in ((250, 12), (262, 3)):
        try:
            outcomes = log.append(submissions(count, start))
        except StorageError:
            os._exit(3)
        if all(isinstance(outcome, Accepted) for outcome in outcomes):
            os.write(1, b"." * count)
    os._exit(0)


if __name__ == "__main__":
    main()
