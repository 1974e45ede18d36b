"""`gopa board serve` and `witness` as processes: what they say, and when."""

from __future__ import annotations

import http
import http.client
import json
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from bulletin_board.archive import ArchiveReader, write_archive, write_mirror
from bulletin_board.client.http import HttpTransport
from bulletin_board.note import KeyKind
from bulletin_board.reader import DirectorySource, LogReader
from bulletin_board.server.run import ListenOptions, bind
from bulletin_board.storage.directory import BoardDirectory
from bulletin_board.witness.service import WitnessStore
from gopa.cli.board import board
from gopa.cli.exits import FAILED_EXIT, INTERRUPTED_EXIT
from gopa.cli.options import check_certificate, own_key, witness_signer
from gopa.protocol.organiser import Organiser, SendMessage, SessionSetting, new_manifest
from tests.board.asking import ask
from tests.board.live import free_port, write_certificate
from tests.board.tools import (
    append,
    filled_board,
    log_key,
    new_board,
    open_log,
    party,
    signer,
    submission,
    submissions,
    trust,
)
from tests.board.waiting import LONG
from tests.protocol.simulation.worlds import SCALAR
from tests.randomness import seeded
from wire.domains import ENTRY_PAYLOAD_TYPE
from wire.errors import UsageError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals and modes")
SERVE = "from gopa.cli import main; main()"


def needing_a_witness(root: Path, address: str) -> Path:
    """A policy whose one witness has this address."""
    witness, policy = signer("witness.example/1", KeyKind.WITNESS).verifier, root / "policy"
    policy.write_text(f"log {log_key()}\nwitness w {witness} {address}\nquorum w\n")
    return policy


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-c", SERVE, "board", *map(str, arguments)]


@contextmanager
def running(*arguments: str | Path, files: int | None = None) -> Iterator[dict[str, str]]:
    """The first thing that the process says, which may open so many files."""
    whole = command(*arguments, "--json")
    if files is not None:
        whole = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *whole]
    process = subprocess.Popen(whole, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG) in {0, -signal.SIGTERM, 143}
        assert process.stdout is not None
        process.stdout.close()


class Logged:
    """A process that serves, and the lines that it logs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.process, self._errors = process, process.stderr
        self.said: dict[str, str] = json.loads(process.stdout.readline())

    def logs(self, event: str) -> str:
        """Reads on until it logs such an event, or has ended; the text of that line."""
        for line in self._errors:
            found = json.loads(line)
            if found["event"] == event:
                return str(found["text"])
        return ""

    def gets(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ends(self) -> int:
        self._errors.read()
        return self.process.wait(LONG)


@contextmanager
def logged(*arguments: str | Path) -> Iterator[Logged]:
    pipe = subprocess.PIPE
    whole = command(*arguments, "--port", "0", "--json", "--log-format", "json")
    process = subprocess.Popen(whole, stdout=pipe, stderr=pipe, text=True)
    try:
        yield Logged(process)
    finally:
        process.kill()
        process.communicate(timeout=LONG)


def manifest_of(number: int) -> bytes:
    """The first entry of a session that this key begins."""
    key = party(number)
    manifest = new_manifest(
        SCALAR,
        [party(9 + each).public.data for each in range(SCALAR.parties)],
        organiser=key.public.data,
        log=log_key(),
        rng=seeded(f"session {number}"),
        setting=SessionSetting(simulation=True),
    )
    (said,) = Organiser(manifest, key, rng=seeded("organiser")).start()
    assert isinstance(said, SendMessage)
    (entry,) = said.entries
    return entry


def presented(url: str) -> bytes:
    """The certificate that a server shows."""
    target = urlsplit(url)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection((target.hostname or "", target.port or 0), LONG) as plain,
        context.wrap_socket(plain) as connection,
    ):
        return connection.getpeercert(binary_form=True) or b""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "ctrl-c"])
@pytest.mark.parametrize("what", ["serve", "witness"])
def test_whoever_stops_a_server_is_told_that_all_is_kept(
    tmp_path: Path, what: str, number: signal.Signals
) -> None:
    new_board(tmp_path / "log")
    witness = ("witness", tmp_path / "w", "--name", "w", "--log", str(log_key()))
    served = ("serve", tmp_path / "log", "--anyone")
    with logged(*(served if what == "serve" else witness)) as process:
        assert process.logs("listening")
        process.gets(number)
        said = process.logs("stopped")
        assert said
        assert ("cosigned" in said) == (what == "witness")
        assert process.ends() == (0 if number is signal.SIGTERM else INTERRUPTED_EXIT)


@pytest.mark.slow
def test_a_board_that_is_being_opened_is_stopped_too(tmp_path: Path) -> None:
    """It waits for its witnesses; whoever stops it then does not have to kill it."""
    filled_board(tmp_path / "log", [submission(0)])
    with socket.create_server(("127.0.0.1", 0)) as silent:
        policy = needing_a_witness(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}")
        line = command("serve", tmp_path / "log", "--anyone", "--port", "0", "--policy", policy)
        process = subprocess.Popen(line)
        with silent.accept()[0]:
            process.send_signal(signal.SIGTERM)
            assert process.wait(LONG) == 0


@pytest.mark.slow
def test_sighup_has_a_board_read_its_files_anew(tmp_path: Path) -> None:
    """Those who may begin sessions, and the certificate; a wrong file changes nothing."""
    manifests = [manifest_of(number) for number in range(3)]
    new_board(tmp_path / "log")
    organisers, certificate, key = (tmp_path / name for name in ("who", "cert.pem", "key.pem"))
    write_certificate(certificate, key)
    organisers.write_text(party(0).public.data.hex() + "\n")
    options: list[str | Path] = [
        "--organisers",
        organisers,
        "--tls-cert",
        certificate,
        "--tls-key",
        key,
    ]
    with logged("serve", tmp_path / "log", "--sessions", *options) as process:
        assert process.logs("listening")
        url, shown = process.said["listening"], presented(process.said["listening"])

        def status(number: int) -> int:
            trusted = HttpTransport(str(certificate))
            place = url.replace("127.0.0.1", "localhost") + "/v1/entries"
            body, kind = manifests[number], ENTRY_PAYLOAD_TYPE
            answer = trusted.request("POST", place, body=body, media_type=kind, limit=2**20)
            return answer.status

        assert [status(0), status(1)] == [201, 403]
        write_certificate(certificate, key)
        organisers.write_text("".join(f"{party(n).public.data.hex()}\n" for n in (0, 1)))
        process.gets(signal.SIGHUP)
        assert "2 keys" in process.logs("reloaded")
        assert process.logs("gopa.board")  # it counts from now on
        assert presented(url) != shown
        assert [status(0), status(1), status(2)] == [200, 201, 403]

        shown = presented(url)
        organisers.write_text("no key\n")
        process.gets(signal.SIGHUP)
        assert process.logs("gopa.board")
        assert (presented(url), status(2)) == (shown, 403)
        process.gets(signal.SIGTERM)
        assert process.logs("stopped")
        assert process.ends() == 0


def test_a_board_says_that_it_listens_when_it_does(tmp_path: Path) -> None:
    """Whoever reads the line may connect at once; the port that was chosen is in it."""
    new_board(tmp_path / "log")
    with running("serve", tmp_path / "log", "--anyone", "--port", "0") as said:
        assert said["log"] == str(log_key())
        target = urlsplit(said["listening"])
        assert target.scheme == "http"
        assert target.port
        assert ask(said["listening"], "GET", "/healthz").status == 200


@pytest.mark.slow
@pytest.mark.parametrize("tls", [False, True])
def test_idle_connections_do_not_use_up_the_descriptors(tmp_path: Path, tls: bool) -> None:
    """More of them than the process may open files, before TLS is spoken, too."""
    new_board(tmp_path / "log")
    options: list[str | Path] = ["serve", tmp_path / "log", "--anyone", "--port", "0"]
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    write_certificate(certificate, key)
    if tls:
        options += ["--tls-cert", certificate, "--tls-key", key]

    with running(*options, files=256) as said, ExitStack() as stack:
        target = urlsplit(said["listening"])
        place = "127.0.0.1", int(target.port or 0)

        def status() -> int:
            connection = http.client.HTTPConnection(*place, timeout=LONG)
            if tls:
                context = ssl.create_default_context(cafile=str(certificate))
                plain = stack.enter_context(socket.create_connection(place, LONG))
                connection.sock = context.wrap_socket(plain, server_hostname="localhost")
            connection.request("GET", "/checkpoint")
            answer = connection.getresponse().status
            connection.close()
            return answer

        assert status() == 200
        for _ in range(300):
            stack.enter_context(socket.create_connection(place, LONG))
        assert [status() for _ in range(5)] == [200] * 5


@pytest.mark.slow
def test_a_board_is_started_without_its_witnesses_at_its_operators_risk(tmp_path: Path) -> None:
    """Nobody but the operator knows whether the storage is the newest one."""
    filled_board(tmp_path / "log", [submission(0)])
    options: list[str | Path] = ["serve", tmp_path / "log", "--anyone", "--port", "0"]
    options += ["--policy", needing_a_witness(tmp_path, "http://127.0.0.1:1")]
    refused = subprocess.run(command(*options), capture_output=True, timeout=LONG, check=False)
    assert refused.returncode == FAILED_EXIT
    assert refused.stdout == b""
    with running(*options, "--risk-fork") as said:
        assert ask(said["listening"], "GET", "/healthz").status == 200


@pytest.mark.slow
def test_a_witness_says_that_it_listens_when_it_does(tmp_path: Path) -> None:
    options = ("--name", "w.example", "--log", str(log_key()), "--port", "0")
    with running("witness", tmp_path / "witness", *options) as said:
        assert ask(said["listening"], "POST", "/add-checkpoint", b"junk").status == 400


@pytest.mark.slow
def test_a_witness_reads_its_options_from_a_file(tmp_path: Path) -> None:
    key, place = tmp_path / "log.vkey", tmp_path / "witness"
    key.write_text(f"{log_key()}\n")
    config = tmp_path / "witness.toml"
    config.write_text(f'[board.witness]\nname = "w.example"\nlog = ["{key}"]\nport = 0\n')
    with running("witness", place, "--config", config) as said:
        assert ask(said["listening"], "GET", "/healthz").status == 200
        assert (place / "witness.vkey").read_text().strip() == said["witness"]
        assert said["witness"].startswith("w.example+")


@pytest.mark.parametrize("what", ["serve", "witness"])
def test_an_address_that_is_taken_is_said_before_anything_is_opened(
    tmp_path: Path, what: str
) -> None:
    new_board(tmp_path / "log")
    options = ["--anyone"] if what == "serve" else ["--name", "w", "--log", str(log_key())]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        place = tmp_path / ("log" if what == "serve" else "witness")
        done = subprocess.run(
            command(what, place, *options, "--port", str(port)), capture_output=True, check=False
        )
    assert done.returncode == FAILED_EXIT
    assert done.stdout == b""
    assert str(port).encode() in done.stderr
    assert b"Traceback" not in done.stderr
    assert not (place / "writer.lock").exists()
    assert not (place / "witness.sqlite").exists()


def test_nobody_connects_before_the_server_runs() -> None:
    (bound,) = bind(ListenOptions("127.0.0.1", 0))
    with bound, pytest.raises(ConnectionRefusedError):
        socket.create_connection(bound.getsockname(), LONG)
    with pytest.raises(UsageError):
        bind(ListenOptions("nowhere.invalid", free_port()))


def test_an_address_of_version_6_leaves_version_4_alone() -> None:
    """Else one program would take both, and the other find its port in use."""
    (four,) = bind(ListenOptions("127.0.0.1", 0))
    port = four.getsockname()[1]
    try:
        with four, socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            (six,) = bind(ListenOptions("::", port))
            with six:
                assert six.getsockname()[1] == port
    except OSError:  # a machine without it
        with pytest.raises(UsageError):
            bind(ListenOptions("::1", 0))


def test_both_listen_with_the_same_options() -> None:
    names = {"host", "port", "tls_cert", "tls_key", "connections", "connections_per_address"}
    found = [
        [option for option in board.commands[name].params if option.name in names]
        for name in ("serve", "witness")
    ]
    described = [[(o.name, o.opts, o.type.name, o.required) for o in each] for each in found]
    assert described[0] == described[1]
    assert {option.name for option in found[0]} == names


PAGE: Final = (Path(__file__).parents[2] / "docs" / "board" / "nginx.md").read_text()
LOCATIONS: Final = dict(re.findall(r"location (\S+(?: /\S*)?) \{\n(.*?)\n    \}", PAGE, re.DOTALL))
"""The directives of each location."""


def test_counters_are_not_public() -> None:
    assert "proxy_pass http://127.0.0.1:8765;" in LOCATIONS["/"]
    assert "deny all;" in LOCATIONS["= /metrics"]
    assert "proxy_pass" not in LOCATIONS["= /metrics"]


MAPS: Final = dict(re.findall(r"map \$binary_remote_addr \$(\w+) \{(.*?)\n\}", PAGE, re.DOTALL))


def key_of(name: str, address: str) -> bytes:
    """What nginx counts an address under; empty for what it does not count."""
    written = re.search(r'"~(.*)" \$(\w+);', MAPS[name])
    assert written is not None
    pattern, group = written.groups()
    packed = ip_address(address).packed
    found = re.search(pattern.replace("(?<", "(?P<").encode(), packed)
    otherwise = b"" if 'default "";' in MAPS[name] else packed
    return otherwise if found is None else found[group]


def test_networks_are_counted_as_the_board_counts_them() -> None:
    """A newline is an octet of addresses like any other."""
    one = "2001:db8:a0a:a0a::a0a"
    assert key_of("network", one) == key_of("network", "2001:db8:a0a:a0a:ffff::1")
    assert key_of("network", one) != key_of("network", "2001:db8:a0a:a0b::1")
    assert key_of("site", one) == key_of("site", "2001:db8:a0a:a0b::1")
    assert key_of("site", one) != key_of("site", "2001:db8:a0b::1")
    assert key_of("network", "10.10.10.10") != key_of("network", "10.10.10.11")
    assert key_of("site", "10.10.10.10") == b""


def test_nothing_is_counted_by_whole_addresses_of_version_6() -> None:
    zones = re.findall(r"limit_(?:req|conn)_zone (\S+) zone=(\w+):", PAGE)
    assert {key for key, _ in zones} == {"$network", "$site"}
    used = set(re.findall(r"limit_(?:req zone=|conn )(\w+)", PAGE))
    assert used == {zone for _, zone in zones}


UMASKS = [0o000, 0o022, 0o077]

LOCKER = """
import fcntl, os, sys
os.setgid(65534); os.setuid(65534)
try:
    handle = open(sys.argv[1], "rb")
    fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, 120)
except PermissionError:
    sys.exit(13)
"""
"""A stranger takes the lock on the byte that every writer of the database needs."""


@pytest.fixture(params=UMASKS, ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes(root: Path) -> set[tuple[bool, int]]:
    """Kinds and modes of everything in a directory, and of itself."""
    return {(path.is_dir(), mode(path)) for path in [root, *root.rglob("*")]}


def filled(root: Path) -> BoardDirectory:
    """A log that is open: SQLite has all its files there."""
    place = new_board(root)
    log = open_log(place)
    append(log, submissions(300))
    return place


@pytest.mark.usefixtures("umask")
def test_modes_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    place = filled(tmp_path / "log")
    with place.writing():
        assert mode(place.root) == 0o755
        assert modes(place.public) == {(True, 0o755), (False, 0o644)}
        assert modes(place.state) == {(True, 0o700), (False, 0o600)}
    names = {path.name for path in place.state.iterdir()}
    assert {"index.sqlite-wal", "lock.sqlite-shm", "key", "writer.lock"} <= names


@pytest.mark.usefixtures("umask")
def test_a_lock_elsewhere_and_a_witness_are_private_too(tmp_path: Path) -> None:
    place = BoardDirectory(tmp_path / "log", tmp_path / "disk" / "lock.sqlite")
    other = new_board(tmp_path / "other")
    place.create(other.signer(), (other.public / "checkpoint").read_bytes())
    open_log(place).close()
    assert modes(place.lock_path.parent) == {(True, 0o700), (False, 0o600)}
    witness_signer(tmp_path / "witness", "w.example")
    store = WitnessStore(tmp_path / "witness" / "witness.sqlite")
    assert modes(tmp_path / "witness") == {(True, 0o700), (False, 0o600)}
    store.close()


@pytest.mark.usefixtures("umask")
def test_a_mirror_is_for_everybody(tmp_path: Path) -> None:
    place = filled(tmp_path / "log")
    archive = tmp_path / "archive"
    with archive.open("wb") as out:
        write_archive(LogReader.open(DirectorySource(place.public), trust()), out)
    with archive.open("rb") as stream:
        write_mirror(ArchiveReader(stream, trust()), tmp_path / "mirror")
    assert modes(tmp_path / "mirror") == {(True, 0o755), (False, 0o644)}


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="only root becomes somebody else")
def test_a_stranger_cannot_lock_the_databases(tmp_path: Path) -> None:
    """The same stranger can lock a database that it can read: the test would notice."""
    place = filled(tmp_path / "log")
    tmp_path.chmod(0o755)
    for path in (place.index_path, place.lock_path):
        assert _locker(path) == 13
    readable = tmp_path / "readable"
    readable.write_bytes(bytes(200))
    readable.chmod(0o644)
    assert _locker(readable) == 0
    assert _locker(place.public / "checkpoint") == 0


def _locker(path: Path) -> int:
    done = subprocess.run([sys.executable, "-c", LOCKER, str(path)], check=False)
    return done.returncode


WIDER = {
    "state": 0o750,
    "state/key": 0o640,
    "state/index.sqlite": 0o644,
    "state/lock.sqlite": 0o604,
    ".": 0o777,
}


@pytest.mark.parametrize("part", WIDER)
def test_what_others_may_use_is_refused(tmp_path: Path, part: str) -> None:
    place = filled(tmp_path / "log")
    _used(place)
    (place.root / part).chmod(WIDER[part])
    with pytest.raises(UsageError):
        _used(place)


def _used(place: BoardDirectory) -> None:
    place.signer()
    open_log(place).close()


def test_a_lock_where_everybody_writes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    place = BoardDirectory(tmp_path / "log", tmp_path / "disk" / "lock.sqlite")
    other = new_board(tmp_path / "other")
    place.create(other.signer(), (other.public / "checkpoint").read_bytes())
    open_log(place).close()
    (tmp_path / "disk").chmod(0o1777)
    with pytest.raises(UsageError):
        open_log(place)


@pytest.mark.parametrize("part", ["key", "index.sqlite"])
def test_a_directory_with_everything_in_it_is_refused(tmp_path: Path, part: str) -> None:
    place = filled(tmp_path / "log")
    open_log(place).close()
    (place.state / part).rename(place.root / part)
    with pytest.raises(UsageError):
        place.signer()
    with pytest.raises(UsageError):
        open_log(place)
    (place.root / part).rename(place.state / part)
    open_log(place).close()


def test_a_witness_whose_directory_others_may_use_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "witness"
    made = witness_signer(place, "w.example")
    assert witness_signer(place, None).verifier == made.verifier
    place.chmod(0o755)
    with pytest.raises(UsageError):
        witness_signer(place, None)


def test_a_key_of_tls_that_others_can_read_is_refused(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate", tmp_path / "key"
    write_certificate(certificate, key)
    check_certificate(certificate, key)
    for wider in (0o640, 0o604):
        key.chmod(wider)
        with pytest.raises(UsageError):
            check_certificate(certificate, key)


def test_somebody_elses_board_has_no_key_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = filled(tmp_path / "log")
    assert own_key(str(place.root)) == str(trust().log.key)

    def forbidden(_: Path) -> bool:
        raise PermissionError

    monkeypatch.setattr(Path, "is_file", forbidden)
    assert own_key(str(place.root)) is None
