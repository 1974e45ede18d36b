"""`make vectors`: write every file of `specs/vectors` anew. A diff is a change of the protocol."""

from tests.vectors.registry import FOLDER, SOURCES, TRANSCRIPTS, render
from tests.vectors.transcripts.catalogue import CASES
from tests.vectors.transcripts.made import make


def main() -> None:
    """Regenerate all files."""
    for name, records in SOURCES.items():
        (FOLDER / name).write_text(render(records()))
    TRANSCRIPTS.mkdir(exist_ok=True)
    for case in CASES:
        for name, content in make(case).files().items():
            (TRANSCRIPTS / name).write_bytes(content)


if __name__ == "__main__":
    main()
