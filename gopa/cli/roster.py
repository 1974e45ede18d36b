"""Reads, shows and makes rosters: who may join, a public key a line, with a name behind a `#`."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from bulletin_board.display import visible
from bulletin_board.storage.directory import write_secret
from bulletin_board.storage.files import replace_file
from gopa.cli.options import as_json_option, parse_public_key, read_line, read_text, reporting, show
from gopa.cli.session_access import new_secret, new_secret_options
from gopa.contract.manifest import Manifest, Roster
from gopa.sessions.invitations import Invitation
from gopa.sessions.vault import identity as identities
from wire.errors import UsageError
from wire.secret import SecretBytes

LONGEST_NAME: Final = 64
_DIGITS: Final = 16
_MOST_LISTED: Final = 12
_KEY = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{16})(?![0-9a-f])")


@dataclass(frozen=True, slots=True)
class RosterLine:
    """Holds one party of a roster: its key, and its name or nothing."""

    key: bytes
    name: str

    def __str__(self) -> str:
        return f"{self.key.hex()}  # {self.name}" if self.name else self.key.hex()


@dataclass(frozen=True, slots=True)
class Names:
    """Knows parties by name: for people alone, no rule depends on it."""

    known: Mapping[bytes, str]

    @classmethod
    def of(cls, lines: Iterable[RosterLine]) -> Names:
        """Takes the names of a roster."""
        return cls({each.key: each.name for each in lines if each.name})

    def or_of(self, manifest: Manifest | None) -> Names:
        """These names; in a simulation without any, the positions of its parties."""
        if self.known or manifest is None or not manifest.simulation:
            return self
        if not isinstance(manifest.admission, Roster):
            return self
        keys = manifest.admission.keys
        return Names({key: f"number {place}" for place, key in enumerate(keys)})

    def shown(self, key: bytes) -> str:
        """The name with the first digits of the key, or these alone."""
        name, short = self.known.get(key), key.hex()[:_DIGITS]
        return f"{name} ({short})" if name else short

    def listed(self, keys: Sequence[bytes]) -> str:
        """The first few of these keys, with their names, and how many more there are."""
        said = ", ".join(self.shown(key) for key in keys[:_MOST_LISTED])
        more = len(keys) - _MOST_LISTED
        return f"{said} and {more} more" if more > 0 else said or "nobody"

    def put_in(self, text: str) -> str:
        """Writes names in front of the keys that stand in a text, whole or with 16 digits."""
        names: dict[str, str] = {}
        for key, name in self.known.items():
            names[key.hex()] = names[key.hex()[:_DIGITS]] = name

        def named(found: re.Match[str]) -> str:
            name = names.get(found[0])
            return found[0] if name is None else f"{name} ({found[0]})"

        return _KEY.sub(named, text) if names else text


NOBODY: Final = Names({})


def read_roster(path: Path) -> tuple[RosterLine, ...]:
    """Reads Ed25519 keys in hex, one a line; what follows a # is the name of the party.

    Raises `UsageError` that names the line.
    """
    found: dict[bytes, int] = {}
    lines = []
    for number, text in enumerate(read_text(path).splitlines(), 1):
        word, _, name = text.partition("#")
        if not word.strip():
            continue
        key = parse_public_key(word.strip(), f"{path}, line {number}")
        if key in found:
            raise UsageError(f"{path}, line {number}: the key stands in line {found[key]} already")
        found[key] = number
        lines.append(RosterLine(key, visible(name.strip(), LONGEST_NAME)))
    if not lines:
        raise UsageError(f"{path} holds no keys: parties make them with `gopa keygen`")
    return tuple(lines)


def write_roster(path: Path, lines: Iterable[RosterLine]) -> None:
    """Writes a roster; raises `UsageError` if it cannot be written."""
    text = "".join(f"{each}\n" for each in lines)
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def names_in(path: Path | None) -> Names:
    """Takes the names of a roster that may not be there."""
    return NOBODY if path is None else Names.of(read_roster(path))


roster_option = click.option(
    "--roster",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Show parties by the names of this roster.",
)


@click.command("roster")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("parties", nargs=-1, metavar="[PARTY]...")
@as_json_option
def roster(*, file: Path, parties: tuple[str, ...], as_json: bool) -> None:
    """Show the roster FILE, and put each PARTY on it first.

    A PARTY is NAME=KEY, or a file that `gopa keygen` has written beside a key: keys/ada.pub. A
    roster is text that you may edit: a public key on each line, and behind a # a name. Names are
    for people: every rule counts keys.
    """
    with reporting():
        lines = list(read_roster(file)) if file.exists() or not parties else []
        if parties:
            for party in parties:
                lines += _added(party, lines)
            write_roster(file, lines)
    if as_json:
        shown = [{"name": each.name, "key": each.key.hex()} for each in lines]
        click.echo(json.dumps({"roster": str(file), "parties": shown}))
        return
    width = max(len(each.name) for each in lines)
    for number, line in enumerate(lines, 1):
        click.echo(f"{number:>4}  {line.name:<{width}}  {line.key.hex()}")


def _added(party: str, lines: list[RosterLine]) -> list[RosterLine]:
    """The lines that a PARTY adds; `UsageError` where its key or its name is there already."""
    name, equals, word = party.partition("=")
    if equals and name.strip():
        name = visible(name.strip(), LONGEST_NAME)
        added = [RosterLine(parse_public_key(word.strip(), party.partition("=")[0]), name)]
    elif Path(party).is_file():
        added = list(read_roster(Path(party)))
        if len(added) > 1:  # whoever sends such a file would have several places
            raise UsageError(f"{party} holds {len(added)} keys, and is to hold that of one party")
    else:
        raise UsageError(
            f"{visible(party[:80])!r} is neither NAME=KEY nor a file that `gopa keygen` has"
            " written, such as keys/ada.pub"
        )
    for each in added:
        if "#" in each.name or "\n" in each.name:
            raise UsageError(f"a name has no # in it: {each.name!r}")
        for known in lines:
            if known.key == each.key:
                raise UsageError(f"{party}: the key is on the roster already, as {known.name!r}")
            if each.name and _read_alike(known.name, each.name):
                raise UsageError(f"{party}: somebody on the roster has this name already")
    return added


def _read_alike(one: str, other: str) -> bool:
    """Whether two names differ in capitals, widths or ligatures at most."""
    first, second = (unicodedata.normalize("NFKC", each).casefold() for each in (one, other))
    return first == second


_path = click.Path(path_type=Path)


@click.command()
@click.argument("path", type=_path)
@new_secret_options
@as_json_option
def keygen(
    *, path: Path, ask: bool, passphrase_file: Path | None, key_file: Path | None, as_json: bool
) -> None:
    """Make a signing key in the new file PATH and print its public half.

    Give the public key (64 hexadecimal digits), or the file PATH.pub that holds it, to the
    organiser: it goes on the roster. PATH is yours alone; its directory is made if needed.
    Whoever has it can take your place in sessions; if it is lost, you need a new one and a
    place on the next roster.
    """
    public = path.with_name(f"{path.name}.pub")
    if public.exists():
        raise UsageError(f"{public} exists already: choose another name for the key")
    with reporting():
        secret = new_secret(passphrase_file, key_file, ask=ask)
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        key = identities.create(path, rng=os.urandom, secret=secret)
        name = visible(path.name.replace("#", "_"), LONGEST_NAME)
        write_roster(public, [RosterLine(key.public.data, name)])
    facts: dict[str, object] = {"public": key.public.data.hex(), "file": str(path)}
    show(facts | {"public_file": str(public), "sealed": secret is not None}, as_json)


@click.command()
@click.argument("file", type=_path)
@click.option("--count", type=click.IntRange(1, 100_000), required=True, help="How many.")
def invite(*, file: Path, count: int) -> None:
    """Make invitations in the new FILE, one a line: give each person one, and keep FILE secret.

    Whoever is invited makes a key (`gopa keygen`) and sends you the line that `gopa enrol`
    prints; it may come over any channel. Collect the lines in a file, then:
    `gopa session create --invitations FILE --enrolments LINES`.
    """
    made = [Invitation.fresh(os.urandom) for _ in range(count)]
    text = "".join(f"{each.reveal()}  # {each.name}\n" for each in made)
    with reporting():
        write_secret(file, SecretBytes(text.encode()))
    click.echo(f"{count} invitations in {file}")


@click.command()
@click.option("--identity", type=_path, required=True, help="Your key, as `gopa keygen` made it.")
@click.option(
    "--invitation",
    type=_path,
    required=True,
    help="A file with your invitation in its first line; - reads it from standard input.",
)
def enrol(*, identity: Path, invitation: Path) -> None:
    """Answer an invitation: print a line for the organiser, who puts your key on the roster.

    The line is no secret. Nobody can exchange the key in it without your invitation, so
    keep that to yourself until the session has begun.
    """
    token = read_line(invitation).partition("#")[0]  # `gopa session invite` names each behind a #
    found = Invitation.parse(token)
    click.echo(str(found.enrol(identities.public_key(identity).data)))
