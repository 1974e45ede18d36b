"""Ten parties average their values; one drops out, one cheats, and anybody can tell.

    python examples/ten_parties.py [DIRECTORY]

DIRECTORY (default `demo`) gets the public log as one file, `session.gopa`; what an auditor
has to know from somewhere else, `anchors.txt`; and what an audit finds, `report.html`.
"""

import sys
from pathlib import Path

import gopa
from gopa.adversary import Malicious, deeds, script_of
from gopa.auditing.html import to_html
from gopa.auditing.report import to_json_dict
from gopa.cli.audit_screen import screen

LEAVES, CHEATS = 6, 3


def main(directory: Path) -> None:
    """One round, its result, and what the log alone says about it."""
    hours = [6.5, 7.0, 8.25, 5.5, 7.75, 6.0, 9.0, 7.25, 6.75, 8.0]
    leaver = Malicious(LEAVES, at="publish", do=deeds.leave())
    cheater = Malicious(CHEATS, at="commit", do=deeds.spoil_proof())
    script = script_of([leaver, cheater])
    result = gopa.average(
        hours, epsilon=4, delta=1e-6, corrupt=1, dropout=0.1, range=(0, 12), script=script
    )
    print(result, end="\n\n")
    directory.mkdir(parents=True, exist_ok=True)
    path = result.transcript.archive(directory / "session.gopa")
    anchors = result.transcript.anchors(directory / "anchors.txt")
    page = directory / "report.html"
    print(f"{path}: {path.stat().st_size:,} bytes, everything there is to check")
    print("Anybody can, who has the file and knows from elsewhere which session it should be:\n")
    print(f"$ gopa audit {path} --anchors {anchors} --html {page}")
    report = gopa.audit(path, anchors=anchors)
    print(screen(report))
    page.write_text(to_html(to_json_dict(report)))

    damaged = directory / "damaged.gopa"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    print(f"The same file with one bit flipped:\n\n$ gopa audit {damaged} --anchors {anchors}")
    print(screen(gopa.audit(damaged, anchors=anchors)))
    print(f"Open {page} in a browser: the first audit as a page, for people who are no experts.")


if __name__ == "__main__":
    main(Path(*sys.argv[1:]) if sys.argv[1:] else Path("demo"))
