"""Runs `gopa board`: makes, reads, checks, reindexes and carries away a bulletin board.

`gopa board evidence` says what a file of evidence proves, and what it does not; `gopa board
reindex` gives a board whose index is lost or wrong another one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from bulletin_board.archive import WHOLE_LOG, ArchiveReader, write_archive, write_mirror
from bulletin_board.client.forks import FORK_EVIDENCE, open_pair, verify_fork
from bulletin_board.entry import Submission, verify_entry
from bulletin_board.fsck import FsckReport, fsck, fsck_directory
from bulletin_board.note import KeyKind, NoteSigner, SignedCheckpoint, VerifierKey
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import DirectorySource, LogReader, Source
from bulletin_board.reindex import rebuild_index
from bulletin_board.sequencer import first_checkpoint
from bulletin_board.server.public_files import live_directory
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.storage.files import replace_file, whole_or_gone
from gopa.cli.board_serve import serve, witness
from gopa.cli.options import (
    as_json_option,
    check_option_name,
    directory,
    lock_option,
    log_option,
    own_key,
    parse_session,
    policy_option,
    read_policy,
    reporting,
    show,
    undone,
)
from gopa.support.wording import counted
from wire.errors import MalformedMessage, UsageError
from wire.randomness import draw
from wire.secret import SecretBytes

_FORK = "the log has forked: it signed two histories that exclude each other"
_UNPROVEN = "nothing but that the log signed both; whether they agree was not shown"


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@log_option
@policy_option
@as_json_option
def evidence(file: Path, log_key: str | None, policy_path: Path | None, as_json: bool) -> None:
    """Say what FILE proves about a log: fork-*.evidence or unproven-*.evidence of a client.

    Exits with 1 if it proves nothing about this log.
    """
    with reporting():
        log = read_policy(policy_path, log_key).log.key
        try:
            proves, older, newer = _judge(file.read_bytes(), log)
        except MalformedMessage as error:
            raise MalformedMessage(f"{file} is no evidence about a log ({error})") from None
        facts: dict[str, object] = {"proves": proves, "log": str(log)}
        for name, signed in (("older", older), ("newer", newer)):
            facts[name] = f"{counted(signed.size, 'entry', 'entries')}, root {signed.root.hex()}"
    show(facts, as_json)


def _judge(data: bytes, log: VerifierKey) -> tuple[str, SignedCheckpoint, SignedCheckpoint]:
    try:
        FORK_EVIDENCE.decode(data)
    except MalformedMessage:
        return _UNPROVEN, *open_pair(data, log)
    return _FORK, *verify_fork(data, log)


@click.command()
@directory
@lock_option
@as_json_option
def reindex(directory: Path, lock: Path | None, as_json: bool) -> None:
    """Rebuild the index of the log in DIRECTORY from its public files. Stop the board first.

    The public files must hold everything that the lock's checkpoint commits to.
    """
    with reporting():
        place = BoardDirectory(directory, lock)
        signed = rebuild_index(place, place.signer())
    show({"size": signed.size, "root": signed.root.hex()}, as_json)


_COLUMNS = ("index", "session", "phase", "kind", "round", "author", "seq", "bytes", "leaf")
_WIDTHS = (8, 16, 5, 4, 5, 16, 8, 5, 16)
_PATIENCE = 5
"""Attempts to reach a board: somebody waits for the answer."""


@click.group()
def board() -> None:
    """The public bulletin board: a transparency log of signed entries."""


board.add_command(evidence)
board.add_command(reindex)
board.add_command(serve)
board.add_command(witness)


@board.command()
@directory
@click.option("--origin", required=True, help="The log's name, such as board.example/2026.")
@lock_option
@as_json_option
def init(directory: Path, origin: str, lock: Path | None, as_json: bool) -> None:
    """Create a new, empty log and its key in DIRECTORY.

    DIRECTORY/log.vkey is the public half: organisers and auditors need it, over a channel that
    they trust.
    """
    with reporting():
        check_option_name(origin, "--origin")
        signer = NoteSigner(origin, KeyKind.LOG, SecretBytes(draw(os.urandom, 32)))
        place = BoardDirectory(directory, lock)
        with undone(directory):
            place.create(signer, first_checkpoint(signer))
            replace_file(place.verifier_path, f"{signer.verifier}\n".encode())
    written = str(place.verifier_path)
    show({"origin": origin, "log": str(signer.verifier), "written": written}, as_json)


@board.command("fsck")
@directory
@log_option
@policy_option
@click.option("--signatures", is_flag=True, help="Verify the signature of every entry too.")
@as_json_option
def fsck_command(
    directory: Path, log_key: str | None, policy_path: Path | None, signatures: bool, as_json: bool
) -> None:
    """Check every byte of the log in DIRECTORY (a board's or a mirror's), or of an archive."""
    with reporting(), ThreadPoolExecutor() as executor:
        if not directory.exists():
            raise UsageError(
                f"{directory} does not exist: name a directory or an archive on this disk"
            )
        policy = read_policy(policy_path, log_key or own_key(str(directory)))
        if directory.is_file():
            report = _fsck_archive(directory, policy, signatures, executor)
        else:
            report = fsck_directory(
                _public(directory), policy, signatures=signatures, executor=executor
            )
    show(_report(report), as_json)


@board.command()
@click.argument("source")
@click.argument("archive", type=click.Path(path_type=Path))
@log_option
@policy_option
@click.option("--session", default=WHOLE_LOG.hex(), help="The session of interest, in hex.")
@as_json_option
def export(  # noqa: PLR0913, PLR0917 - click passes every option by name
    source: str,
    archive: Path,
    log_key: str | None,
    policy_path: Path | None,
    session: str,
    as_json: bool,
) -> None:
    """Write the log at SOURCE (a directory or an address) into one ARCHIVE for offline audit."""
    with reporting():
        policy = read_policy(policy_path, log_key or own_key(source))
        reader = LogReader.open(_source(source), policy)
        of_interest = parse_session(session)
        scratch = archive.with_name(f"{archive.name}.part")
        with whole_or_gone(archive, scratch):
            with scratch.open("wb") as out:
                write_archive(reader, out, of_interest)
            scratch.replace(archive)
    show({"archive": str(archive), "size": reader.size, "root": reader.signed.root.hex()}, as_json)


@board.command("import")
@click.argument("archive", type=click.Path(path_type=Path, exists=True))
@directory
@log_option
@policy_option
@as_json_option
def import_command(
    archive: Path, directory: Path, log_key: str | None, policy_path: Path | None, as_json: bool
) -> None:
    """Verify ARCHIVE and write it into DIRECTORY as a mirror that any web server can serve."""
    with reporting(), archive.open("rb") as stream:
        reader = ArchiveReader(stream, read_policy(policy_path, log_key))
        write_mirror(reader, directory)
    show({"directory": str(directory), "size": reader.signed.size}, as_json)


@board.command()
@click.argument("source")
@log_option
@policy_option
@click.option(
    "--start", type=click.IntRange(0), default=0, show_default=True, help="The first entry to show."
)
@click.option("--follow", is_flag=True, help="Wait for more.")
@click.option("--state", type=click.Path(path_type=Path), help="Remember checkpoints here.")
@as_json_option
def tail(  # noqa: PLR0913, PLR0917 - click passes every option by name
    source: str,
    log_key: str | None,
    policy_path: Path | None,
    start: int,
    follow: bool,
    state: Path | None,
    as_json: bool,
) -> None:
    """Show verified entries of the log at SOURCE, one line each."""
    with reporting():
        policy = read_policy(policy_path, log_key or own_key(source))
        open_reader = _reader_factory(source, policy, state)
        if not as_json:
            click.echo(_columns(_COLUMNS))
        while True:
            reader = open_reader()
            for index, raw in enumerate(reader.entries(min(start, reader.size)), start):
                click.echo(_line(index, raw, as_json))
            start = max(start, reader.size)
            if not follow:
                break
            time.sleep(1)


@board.command()
@click.argument("source")
@click.argument("index", type=click.IntRange(0))
@click.option("--out", type=click.Path(path_type=Path), help="Write the proof here.")
@log_option
@policy_option
@as_json_option
def proof(  # noqa: PLR0913, PLR0917 - click passes every option by name
    source: str,
    index: int,
    out: Path | None,
    log_key: str | None,
    policy_path: Path | None,
    as_json: bool,
) -> None:
    """Make a proof, checkable offline, that the log at SOURCE holds entry INDEX."""
    with reporting():
        policy = read_policy(policy_path, log_key or own_key(source))
        reader = LogReader.open(_source(source), policy)
        if index >= reader.size:
            held = counted(reader.size, "entry", "entries")
            raise UsageError(f"there is no entry {index}: the log has {held}")
        data = reader.receipt(index).to_bytes()
        if out is not None:
            with whole_or_gone(out):
                out.write_bytes(data)
    if out is not None:
        show({"index": index, "size": reader.size, "proof": str(out)}, as_json)
    elif as_json:
        click.echo(json.dumps({"index": index, "size": reader.size, "proof": data.decode()}))
    else:
        click.echo(data.decode(), nl=False)


def _public(directory: Path) -> Path:
    return directory / "public" if (directory / "public").is_dir() else directory


def _source(text: str) -> Source:
    if "://" not in text:
        return live_directory(_public(Path(text)))
    from bulletin_board.client.http import HttpTransport
    from bulletin_board.client.reading import HttpSource

    return HttpSource(text, HttpTransport())


def _reader_factory(
    source: str, policy: TrustPolicy, state: Path | None
) -> Callable[[], LogReader]:
    if "://" not in source:
        return lambda: LogReader.open(_source(source), policy)
    from bulletin_board.client.board import BoardClient, Patience
    from bulletin_board.client.http import HttpTransport
    from bulletin_board.client.state import ClientState, DirectoryState, MemoryState

    memory: ClientState = DirectoryState(state, policy.log.key) if state else MemoryState()
    transport, patience = HttpTransport(), Patience(_PATIENCE)
    return BoardClient(source, policy, memory, transport, rng=os.urandom, patience=patience).reader


def _fsck_archive(
    path: Path, policy: TrustPolicy, signatures: bool, executor: ThreadPoolExecutor
) -> FsckReport:
    import tempfile

    with tempfile.TemporaryDirectory() as scratch, path.open("rb") as stream:
        mirror = Path(scratch) / "mirror"
        write_mirror(ArchiveReader(stream, policy), mirror)
        source = DirectorySource(mirror)
        return fsck(source, policy, signatures=signatures, executor=executor)


def _report(report: FsckReport) -> dict[str, object]:
    return {
        "origin": report.origin,
        "size": report.size,
        "root": report.root.hex(),
        "entry_bytes": report.entry_bytes,
        "tiles": report.tiles,
        "bundles": report.bundles,
        "signatures": report.signatures,
        "equivocations": report.equivocations,
    }


def _line(index: int, raw: bytes, as_json: bool) -> str:
    submission = Submission.decode(raw)
    verify_entry(submission)
    entry = submission.entry
    facts: dict[str, object] = {
        "index": index,
        "session": entry.session.hex(),
        "phase": entry.phase,
        "kind": entry.kind,
        "round": entry.round,
        "author": entry.author.data.hex(),
        "seq": entry.seq,
        "bytes": len(raw),
        "leaf": submission.leaf.hex(),
    }
    if as_json:
        return json.dumps(facts)
    return _columns(tuple(map(str, facts.values())))


def _columns(values: tuple[str, ...]) -> str:
    parts = (value[:width].ljust(width) for value, width in zip(values, _WIDTHS, strict=True))
    return "  ".join(parts).rstrip()
