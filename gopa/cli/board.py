"""`gopa board`: run, watch, check and carry away a bulletin board."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from bulletin_board.archive import WHOLE_LOG, ArchiveReader, write_archive
from bulletin_board.entry import Submission, verify_entry
from bulletin_board.fsck import FsckReport, fsck, fsck_directory
from bulletin_board.mirror import write_mirror
from bulletin_board.note import KeyKind, NoteSigner
from bulletin_board.policy import TrustPolicy
from bulletin_board.reader import LogReader
from bulletin_board.sequencer import first_checkpoint
from bulletin_board.server.static import live_directory
from bulletin_board.source import DirectorySource, Source
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.visible import visible
from gopa.cli.board_input import (
    check_certificate,
    check_option_name,
    own_key,
    parse_log_key,
    parse_session,
    read_admission,
    read_policy,
    witness_signer,
)
from wire.errors import ProtocolError, UsageError
from wire.randomness import draw
from wire.secret import SecretBytes

FAILED_EXIT = 1

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
log_option = click.option("--log", "log_key", help="The log's verifier key (vkey).")
policy_option = click.option(
    "--policy", "policy_path", type=click.Path(path_type=Path), help="A tlog policy file."
)
lock_option = click.option(
    "--lock", type=click.Path(path_type=Path), help="The lock file, best kept on another disk."
)
directory = click.argument("directory", type=click.Path(path_type=Path))
host_option = click.option("--host", default="127.0.0.1", show_default=True)
port_type = click.IntRange(1, 65_535)
certificate_option = click.option(
    "--tls-cert", type=click.Path(path_type=Path, exists=True), help="Certificate chain in PEM."
)
certificate_key_option = click.option(
    "--tls-key", type=click.Path(path_type=Path, exists=True), help="Its private key in PEM."
)


@click.group()
def board() -> None:
    """The public bulletin board: a transparency log of signed entries."""


@board.command()
@directory
@click.option("--origin", required=True, help="The log's name, such as board.example/2026.")
@lock_option
@as_json_option
def init(directory: Path, origin: str, lock: Path | None, as_json: bool) -> None:
    """Create a new, empty log and its key in DIRECTORY."""
    with _reporting():
        check_option_name(origin, "--origin")
        signer = NoteSigner(origin, KeyKind.LOG, SecretBytes(draw(os.urandom, 32)))
        BoardDirectory(directory, lock).create(signer, first_checkpoint(signer))
    _show({"origin": origin, "log": str(signer.verifier)}, as_json)


@board.command()
@directory
@lock_option
@click.option(
    "--roster", type=click.Path(path_type=Path), help="Registered keys, one hex per line."
)
@click.option("--anyone", is_flag=True, help="Admit every key: for trials, nothing bounds the log.")
@click.option(
    "--quota", type=click.IntRange(1), default=10_000, show_default=True, help="Entries per author."
)
@policy_option
@host_option
@click.option("--port", type=port_type, default=8765, show_default=True)
@certificate_option
@certificate_key_option
@as_json_option
def serve(  # noqa: PLR0913, PLR0917 - click passes every option by name
    directory: Path,
    lock: Path | None,
    roster: Path | None,
    anyone: bool,
    quota: int,
    policy_path: Path | None,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    as_json: bool,
) -> None:
    """Serve the log in DIRECTORY: tiles, entry submission, a page that shows it live.

    SIGTERM stops it without losing anything that was acknowledged.
    """
    from bulletin_board.server.run import Listen, make_server
    from bulletin_board.server.start import start_board

    with _reporting(), ExitStack() as stack:
        admission = read_admission(roster, anyone, quota)
        tls = check_certificate(tls_cert, tls_key)
        place = BoardDirectory(directory, lock)
        signer = place.signer()
        policy = read_policy(policy_path, str(signer.verifier))
        app = start_board(place, signer, policy, admission, stack)
        _show({"log": str(signer.verifier), "listening": f"{host}:{port}"}, as_json)
        listen = Listen(host, port, *tls)
        make_server(app, listen).run()


@board.command()
@directory
@click.option("--name", help="The witness's name; needed the first time.")
@click.option("--log", "logs", multiple=True, required=True, help="A log's verifier key.")
@host_option
@click.option("--port", type=port_type, default=8766, show_default=True)
@certificate_option
@certificate_key_option
@as_json_option
def witness(  # noqa: PLR0913, PLR0917 - click passes every option by name
    directory: Path,
    name: str | None,
    logs: tuple[str, ...],
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    as_json: bool,
) -> None:
    """Cosign checkpoints of logs, one history each. DIRECTORY keeps the key and the memory."""
    from bulletin_board.server.run import Listen, make_server
    from bulletin_board.witness.service import Witness, build_witness_app
    from bulletin_board.witness.store import WitnessStore

    with _reporting():
        tls = check_certificate(tls_cert, tls_key)
        keys = [parse_log_key(log) for log in logs]
        signer = witness_signer(directory, name)
        service = Witness(signer, keys, WitnessStore(directory / "witness.sqlite"))
        listen = Listen(host, port, *tls)
        _show({"witness": str(signer.verifier), "listening": f"{host}:{port}"}, as_json)
        make_server(build_witness_app(service), listen).run()


@board.command("fsck")
@directory
@log_option
@policy_option
@click.option("--signatures", is_flag=True, help="Verify the signature of every entry too.")
@as_json_option
def fsck_command(
    directory: Path,
    log_key: str | None,
    policy_path: Path | None,
    signatures: bool,
    as_json: bool,
) -> None:
    """Check every byte of the log in DIRECTORY (a board's or a mirror's), or of an archive."""
    with _reporting(), ThreadPoolExecutor() as executor:
        policy = read_policy(policy_path, log_key or own_key(str(directory)))
        if directory.is_file():
            report = _fsck_archive(directory, policy, signatures, executor)
        else:
            report = fsck_directory(
                _public(directory), policy, signatures=signatures, executor=executor
            )
    _show(_report(report), as_json)


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
    with _reporting():
        policy = read_policy(policy_path, log_key or own_key(source))
        reader = LogReader.open(_source(source), policy)
        scratch = archive.with_name(f"{archive.name}.part")
        with scratch.open("wb") as out:
            write_archive(reader, out, parse_session(session))
        scratch.replace(archive)
    _show({"archive": str(archive), "size": reader.size, "root": reader.signed.root.hex()}, as_json)


@board.command("import")
@click.argument("archive", type=click.Path(path_type=Path, exists=True))
@directory
@log_option
@policy_option
@as_json_option
def import_command(
    archive: Path,
    directory: Path,
    log_key: str | None,
    policy_path: Path | None,
    as_json: bool,
) -> None:
    """Verify ARCHIVE and write it into DIRECTORY as a mirror that any web server can serve."""
    with _reporting(), archive.open("rb") as stream:
        reader = ArchiveReader(stream, read_policy(policy_path, log_key))
        write_mirror(reader, directory)
    _show({"directory": str(directory), "size": reader.signed.size}, as_json)


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
    with _reporting():
        policy = read_policy(policy_path, log_key or own_key(source))
        open_reader = _reader_factory(source, policy, state)
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
    with _reporting():
        policy = read_policy(policy_path, log_key or own_key(source))
        reader = LogReader.open(_source(source), policy)
        data = reader.receipt(index).to_bytes()
        if out is not None:
            out.write_bytes(data)
    if out is not None:
        _show({"index": index, "size": reader.size, "proof": str(out)}, as_json)
    elif as_json:
        click.echo(json.dumps({"index": index, "size": reader.size, "proof": data.decode()}))
    else:
        click.echo(data.decode(), nl=False)


@contextmanager
def _reporting() -> Iterator[None]:
    """What was received is wrong: one line and exit code 1. Usage errors go on to `main`."""
    try:
        yield
    except ProtocolError as error:
        click.echo(f"gopa: {type(error).__name__}: {visible(str(error))}", err=True)
        sys.exit(FAILED_EXIT)
    except BrokenPipeError:
        raise  # whoever read the output has gone: click ends quietly
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise UsageError(f"{where}{error.strerror or error}") from None


def _show(facts: dict[str, object], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(facts))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        click.echo(f"{name:<{width}}  {visible(str(value))}")


def _public(directory: Path) -> Path:
    return directory / "public" if (directory / "public").is_dir() else directory


def _source(text: str) -> Source:
    if "://" not in text:
        return live_directory(_public(Path(text)))
    from bulletin_board.client.http import HttpTransport
    from bulletin_board.client.source import HttpSource

    return HttpSource(text, HttpTransport())


def _reader_factory(
    source: str, policy: TrustPolicy, state: Path | None
) -> Callable[[], LogReader]:
    if "://" not in source:
        return lambda: LogReader.open(_source(source), policy)
    from bulletin_board.client.board import BoardClient
    from bulletin_board.client.http import HttpTransport
    from bulletin_board.client.state import ClientState, DirectoryState, MemoryState

    memory: ClientState = DirectoryState(state, policy.log.key) if state else MemoryState()
    return BoardClient(source, policy, memory, HttpTransport(), rng=os.urandom).reader


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
    return "  ".join(str(value)[:16] for value in facts.values())
