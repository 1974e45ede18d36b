"""`make vectors`: write every file of `specs/vectors` anew. A diff is a change of the protocol."""

from tests.vectors.registry import FOLDER, SOURCES, render


def main() -> None:
    """Regenerate all files."""
    for name, records in SOURCES.items():
        (FOLDER / name).write_text(render(records()))


if __name__ == "__main__":
    main()
