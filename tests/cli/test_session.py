"""`gopa keygen` and `gopa session` from the shell, against a board on loopback."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from bulletin_board import Submission
from gopa.cli import commands
from gopa.cli.board_serve import read_keys
from gopa.cli.exits import FAILED_EXIT
from gopa.cli.plan import make_plan
from gopa.cli.session_progress import question_rows, warnings_of
from gopa.contract.beacon import QUICKNET
from gopa.contract.manifest import DrandBeacon, Manifest, OpenAdmission, Roster
from gopa.contract.phases import Phase
from gopa.planning.result import Plan
from gopa.protocol.admission.policy import Limits, ProtocolAdmission
from gopa.protocol.admission.view import Sessions
from gopa.protocol.rules import Findings, check_log
from gopa.sessions.organising.storage import OrganiserPlace
from gopa.sessions.ticket import Ticket
from gopa.sessions.vault import Passphrase, VaultError, WrongSecret, identity
from gopa.support.wording import ABORTS, EXACT, EXACT_DIFFERENCE, EXACT_ROW_MODES, NO_EPSILON
from tests.board.live import client, free_port, live_board
from tests.board.tools import log_key, signer
from tests.board.waiting import LONG, until
from tests.contract.beacon.rounds import info_second
from tests.randomness import seeded
from tests.sessions.organising.test_live import LiveParties, taking_part
from wire.ed25519 import SigningKey
from wire.errors import PUBLISHED, UsageError

SMALL = ("--epsilon", "100", "--delta", "0.01", "--dropout", "0.01")
PARTIES = 6
KEYS = sorted(
    (SigningKey.generate(seeded(f"cli party {number}")) for number in range(PARTIES)),
    key=lambda key: key.public.data,
)


def gopa(*arguments: object, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(commands, [str(each) for each in arguments], env=env)


def facts(*arguments: object, env: dict[str, str] | None = None) -> dict[str, object]:
    result = gopa(*arguments, "--json", env=env)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def refused(*arguments: object, env: dict[str, str] | None = None) -> UsageError:
    """The command is the user's to mend, and says what to change."""
    result = gopa(*arguments, env=env)
    assert isinstance(result.exception, UsageError), (result.exception, result.output)
    return result.exception


def roster(directory: Path, keys: list[SigningKey] = KEYS) -> Path:
    path = directory / "roster.txt"
    lines = [f"{key.public.data.hex()}  # party {number}" for number, key in enumerate(keys)]
    path.write_text("# who may join\n\n" + "\n".join(lines) + "\n")
    return path


@dataclass
class World:
    """A board that is running, and a place for everything else."""

    url: str
    root: Path

    def create(self, name: str = "mine", *more: object) -> dict[str, object]:
        return facts("session", "create", self.root / name, *self.arguments(), *more)

    def arguments(self) -> tuple[object, ...]:
        who = ("--roster", roster(self.root))
        return ("--board", self.url, "--log-key", log_key(), *who, *SMALL)

    def place(self, name: str = "mine") -> OrganiserPlace:
        return OrganiserPlace(self.root / name)

    def manifest(self, name: str = "mine") -> Manifest:
        place = self.place(name)
        return place.manifest(place.ticket())

    def findings(self, name: str = "mine") -> Findings:
        session = self.place(name).ticket().session
        return check_log(client(self.url).entries(), rng=seeded("auditor"), session=session)


@cache
def _plan_once(wanted: tuple[tuple[str, object], ...]) -> Plan:
    return make_plan(**dict(wanted))


@pytest.fixture(autouse=True)
def plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same target is planned once: that takes seconds."""
    monkeypatch.setattr(
        "gopa.cli.plan.make_plan", lambda **wanted: _plan_once(tuple(wanted.items()))
    )


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    sessions = Sessions()
    with live_board(tmp_path / "board", admission=sessions.policy, view=sessions) as url:
        yield World(url, tmp_path)


def value(index: int, logical: int) -> int:
    return index + logical


def parties(world: World, name: str = "mine") -> LiveParties:
    return LiveParties(world.manifest(name), KEYS, value)


def lines(result: Result, code: int = 0) -> list[dict[str, object]]:
    assert result.exit_code == code, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


# keygen


def test_keygen_makes_a_key_that_only_its_owner_reads(tmp_path: Path) -> None:
    made = facts("keygen", tmp_path / "me")
    assert stat.S_IMODE((tmp_path / "me").stat().st_mode) == 0o600
    assert identity.load(tmp_path / "me").public.data.hex() == made["public"]
    before = (tmp_path / "me").read_bytes()
    refused("keygen", tmp_path / "me")
    assert (tmp_path / "me").read_bytes() == before
    assert bytes.fromhex(str(made["public"])) in before


def test_keygen_seals_with_a_passphrase_or_a_key_file(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("correct horse\n")
    facts("keygen", tmp_path / "a", "--passphrase-file", tmp_path / "words")
    facts("keygen", tmp_path / "b", "--passphrase", env={"GOPA_PASSPHRASE": "correct horse"})
    for name in ("a", "b"):
        assert identity.load(tmp_path / name, Passphrase.of("correct horse"))
        with pytest.raises(WrongSecret):
            identity.load(tmp_path / name, Passphrase.of("wrong"))
    facts("keygen", tmp_path / "c", "--key-file", tmp_path / "sealing")
    facts("keygen", tmp_path / "d", "--key-file", tmp_path / "sealing")
    assert stat.S_IMODE((tmp_path / "sealing").stat().st_mode) == 0o600
    assert identity.is_sealed(tmp_path / "d")


def test_keygen_takes_one_way_to_seal(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("x\n")
    refused("keygen", tmp_path / "k", "--passphrase-file", tmp_path / "words", "--passphrase")
    refused("keygen", tmp_path / "k", "--passphrase")  # nobody is there to be asked
    refused("keygen", tmp_path / "k", "--passphrase-file", tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\n")
    refused("keygen", tmp_path / "k", "--passphrase-file", tmp_path / "binary")
    refused("keygen", tmp_path / "k", "--key-file", tmp_path / "none" / "sealing")
    assert not (tmp_path / "k").exists()
    facts("keygen", tmp_path / "k", "--passphrase-file", tmp_path / "words")


def test_a_passphrase_is_asked_for_twice_where_somebody_sits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gopa.cli.session_access.sys", SimpleNamespace(stdin=Terminal()))
    words = "correct horse\n"
    line = ["keygen", str(tmp_path / "me"), "--passphrase"]
    wrong = CliRunner().invoke(commands, line, input=words + "mistaken\n")
    assert wrong.exit_code != 0
    assert not (tmp_path / "me").exists()
    made = CliRunner().invoke(commands, line, input=words + words)
    assert made.exit_code == 0, made.output
    assert "correct" not in made.output
    assert identity.load(tmp_path / "me", Passphrase.of("correct horse"))


class Terminal:
    """Somebody sits there."""

    def isatty(self) -> bool:
        return True


# create


def test_create_writes_a_session_that_fits_the_roster(world: World) -> None:
    made = world.create("mine", "--title", "a mean")
    ticket, manifest = world.place().ticket(), world.manifest()
    assert made["session"] == ticket.session.hex() == manifest.session.hex()
    assert ticket == Ticket(world.url, log_key(), manifest.session)
    assert manifest.admission == Roster(tuple(key.public.data for key in KEYS))
    assert manifest.title == b"a mean"
    assert not manifest.simulation
    assert world.place().key(None).public.data == manifest.organiser
    assert stat.S_IMODE(world.place().vault_path.stat().st_mode) == 0o700
    for path in (world.place().identity_path, world.place().session_path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not client(world.url).update().size


def test_create_makes_other_kinds_of_sessions(world: World) -> None:
    world.create("signed", "--mode", "signed")
    assert world.manifest("signed").terms.mask == "uniform"
    world.create("curious", "--mode", "signed", "--trust", "honest-but-curious")
    assert world.manifest("curious").terms.mask == "gaussian"
    arguments = world.arguments()[:4]
    facts("session", "create", world.root / "any", *arguments, "--anyone", "-n", 12, *SMALL)
    assert world.manifest("any").admission == OpenAdmission(12)
    exact, noisy = world.create("exact", "--epsilon", NO_EPSILON), world.create("noisy")
    assert world.manifest("exact").terms.exact
    assert (exact["epsilon"], noisy["epsilon"]) == (NO_EPSILON, "100")
    assert exact["exact"] == f"{EXACT}; {EXACT_DIFFERENCE}"
    assert "exact" not in noisy


def test_create_plans_for_weights_where_lengths_are_proved(world: World) -> None:
    rows = ("--path", "rows", "--low", "-1", "--norm", "1", "--weighted")
    hidden = ("--epsilon", NO_EPSILON, "--dimension")
    world.create("rows", *rows, *hidden, "4")
    manifest = world.manifest("rows")
    assert manifest.weighted
    assert manifest.terms.weight_length
    asked = dict(question_rows(manifest))
    assert asked["value"].startswith("3 numbers, each from -1 to 1, together no longer than 1; and")
    assert asked["plan"].endswith(EXACT_ROW_MODES["full"])
    found = refused(
        "session", "create", world.root / "one", *world.arguments(), *rows, *hidden, "1"
    )
    assert found.field == "--dimension"
    world.create("bits", "--weighted", "--path", "bits", *hidden, "4")
    assert world.manifest("bits").weighted
    assert not world.manifest("bits").terms.weight_length


def test_create_with_a_beacon_takes_its_chain(world: World) -> None:
    policy = world.root / "policy"
    witness = signer("witness.example/1", type(signer().verifier.kind)(4)).verifier
    policy.write_text(f"log {log_key()}\nwitness w {witness}\nquorum w\n")
    more = ("--beacon", "drand", "--policy", policy)
    world.create("known", *more)
    assert world.manifest("known").beacon == DrandBeacon(QUICKNET)
    assert world.place("known").ticket().policy == world.manifest("known").policy != b""
    info = world.root / "info.json"
    info.write_text(json.dumps(info_second(QUICKNET)))
    world.create("read", *more, "--chain", info)
    assert world.manifest("read").beacon == DrandBeacon(QUICKNET)
    arguments = ("session", "create", world.root / "no", *world.arguments())
    assert refused(*arguments, "--beacon", "drand").field == "policy"
    refused(*arguments, "--policy", world.root / "nowhere")
    other = signer("board.example/other").verifier
    (world.root / "others").write_text(f"log {other}\nquorum none\n")
    assert refused(*arguments, "--policy", world.root / "others").field == "--policy"
    assert refused(*arguments, *more, "--chain", "nowhere").field == "--chain"
    info.write_text("{}")
    assert refused(*arguments, *more, "--chain", info).field == "--chain"
    assert not (world.root / "no").exists()


def test_create_never_writes_over_anything(world: World) -> None:
    made = world.create()
    refused("session", "create", world.root / "mine", *world.arguments())
    assert world.place().ticket().session.hex() == made["session"]


def test_create_refuses_plans_that_fail_and_writes_nothing(world: World) -> None:
    arguments = ("session", "create", world.root / "no", *world.arguments())
    refused(*arguments, "--corrupt", "5")
    refused(*arguments, "-n", "11")
    refused(*arguments, "--mode", "full", "--trust", "honest-but-curious")
    assert not (world.root / "no").exists()
    facts(*arguments)


def test_create_asks_the_board_first(world: World) -> None:
    def arguments(name: str, url: str, key: object) -> tuple[object, ...]:
        who = ("--roster", roster(world.root))
        place = world.root / name
        return ("session", "create", place, "--board", url, "--log-key", key, *who, *SMALL)

    away = f"http://127.0.0.1:{free_port()}"
    assert refused(*arguments("no", away, log_key())).field == "--board"
    assert refused(*arguments("no", f"{world.url}/nowhere", log_key())).field == "--board"
    other = signer("board.example/other").verifier
    assert refused(*arguments("no", world.url, other)).field == "--log-key"
    assert refused(*arguments("no", "board.example", log_key())).field == "--board"
    refused(*arguments("no", world.url, "nonsense"))
    assert not (world.root / "no").exists()
    facts(*arguments("late", away, log_key()), "--offline")
    facts(*arguments("now", world.url, log_key()))


BAD_ROSTERS = {
    "empty": "# nobody\n",
    "no hex": "zz\n",
    "short": "00ff\n",
    "no point": "ff" * 32 + "\n",
    "twice": f"{KEYS[0].public.data.hex()}\n{KEYS[0].public.data.hex()}\n",
    "binary": "\udcff",
}


@pytest.mark.parametrize("text", BAD_ROSTERS.values(), ids=BAD_ROSTERS)
def test_roster_is_read_strictly(world: World, text: str) -> None:
    path = roster(world.root)
    arguments = ("session", "create", world.root / "no", *world.arguments())
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(
        "session",
        "create",
        world.root / "no",
        *("--board", world.url, "--log-key", log_key(), "--roster", path),
        *SMALL,
    )
    assert not (world.root / "no").exists()
    roster(world.root)
    facts(*arguments)


def test_who_may_join_is_said_once(world: World) -> None:
    arguments = ("session", "create", world.root / "no")
    board = ("--board", world.url, "--log-key", log_key())
    refused(*arguments, *board, *SMALL)
    refused(*arguments, *world.arguments(), "--anyone")
    refused(*arguments, *board, "--anyone", *SMALL)  # for how many?


# open, status, close


@pytest.mark.slow
def test_session_runs_to_its_results(world: World) -> None:
    world.create("mine", "--rounds", "2")
    with taking_part(parties(world), world.url) as crowd:
        result = gopa("session", "open", world.root / "mine", "--json", "--poll", "0.02")
        assert until(lambda: all(len(each.finished) == 2 for each in crowd.members))
    told = lines(result)
    assert told[0]["event"] == "session-open"
    assert [each["phase"] for each in told if each["event"] == "phase"][:6] == [
        "join",
        "coins",
        "commit",
        "publish",
        "confirm",
        "unmask",
    ]
    results = [each for each in told if each["event"] == "result"]
    assert [each["included"] for each in results] == [PARTIES, PARTIES]
    assert told[-1] == {"event": "session", "rounds": 2, "results": 2, "complete": True}
    found = world.findings()
    assert found.complete
    assert not found.faults
    assert [list(each.sums or ()) for each in found.rounds] == [each["sums"] for each in results]
    assert not [each for each in crowd.members if each.halted]
    shown = facts("session", "status", world.place().ticket_path)
    rounds = shown["rounds"]
    assert isinstance(rounds, list)
    assert [each["outcome"] for each in rounds] == ["result", "result"]
    assert [each["sums"] for each in rounds] == [each["sums"] for each in results]
    assert shown["round"] is None
    assert gopa("session", "status", world.root / "mine").exit_code == 0


def test_status_before_anything_is_posted(world: World) -> None:
    world.create()
    shown = facts("session", "status", world.root / "mine")
    assert (shown["begun"], shown["rounds"], shown["round"]) == (False, [], None)
    own = gopa("session", "status", world.root / "mine")
    assert own.exit_code == 0
    assert "from 0 to 1" in own.output
    assert "from 0 to 1" not in gopa("session", "status", world.place().ticket_path).output


def test_an_answer_that_will_be_mostly_noise_is_announced(world: World) -> None:
    clear, noisy = world.create(), world.create("few", "--epsilon", "1", "--delta", "1e-6")
    assert clear["warnings"] == warnings_of(world.manifest()) == []
    for said in (noisy["warnings"], warnings_of(world.manifest("few"))):
        assert isinstance(said, list)
        (warning,) = said
        assert f"with {PARTIES} parties this answer is mostly noise" in warning
    assert ("warning", warning) in question_rows(world.manifest("few"))


@pytest.mark.slow
def test_absent_parties_are_waited_for_and_left_out(world: World) -> None:
    world.create()
    crowd = parties(world)
    crowd.members[4].silent = frozenset({Phase.COMMIT})
    times = ("--join-seconds", "60", "--phase-seconds", "60", "--seconds", "commit", "3")
    with taking_part(crowd, world.url):
        arguments = ("session", "open", world.root / "mine", *times, "--json", "--poll", "0.02")
        told = lines(gopa(*arguments))
    (result,) = [each for each in told if each["event"] == "result"]
    assert result["included"] == PARTIES - 1
    assert world.findings().complete


class Process:
    """`gopa session open` in a process of its own."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, "-m", "gopa", *map(str, arguments)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.told: list[dict[str, object]] = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.told.append(json.loads(line))

    def has_told(self, event: str, **wanted: object) -> bool:
        return any(
            each["event"] == event and wanted.items() <= each.items() for each in list(self.told)
        )

    def send(self, number: signal.Signals) -> int:
        self._process.send_signal(number)
        return self.wait()

    def pause(self) -> None:
        """It lives and does nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def wait(self) -> int:
        code = self._process.wait(LONG)
        self._reading.join(LONG)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code


def waiting_for_one(world: World) -> tuple[LiveParties, tuple[object, ...]]:
    """A session in which a party is waited for in commit, for long."""
    world.create()
    crowd = parties(world)
    crowd.members[4].silent = frozenset({Phase.COMMIT})
    times = ("--seconds", "commit", "600", "--json", "--poll", "0.02")
    return crowd, ("session", "open", world.root / "mine", *times)


def shown(world: World) -> str:
    """The status for people."""
    result = gopa("session", "status", world.root / "mine")
    assert result.exit_code == 0
    return " ".join(result.stdout.split())


def posted_in_commit(world: World) -> int:
    entries = (Submission.decode(raw).entry for raw in client(world.url).reader().entries())
    return sum(each.phase == Phase.COMMIT for each in entries)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGKILL, -9, id="kill"),
        pytest.param(signal.SIGTERM, 130, id="term", marks=pytest.mark.soak),
    ],
)
def test_killed_organiser_goes_on(world: World, number: signal.Signals, code: int) -> None:
    crowd, arguments = waiting_for_one(world)
    with taking_part(crowd, world.url):
        first = Process(*arguments)
        assert until(lambda: posted_in_commit(world) == PARTIES - 1)
        assert first.send(number) == code
        shorter = (*arguments[:3], "--seconds", "commit", "1", "--json", "--poll", "0.02")
        told = lines(gopa(*shorter))
    assert [each["included"] for each in told if each["event"] == "result"] == [PARTIES - 1]
    found = world.findings()
    assert found.complete
    assert not found.faults


@pytest.mark.slow
def test_close_ends_the_round_that_another_process_runs(world: World) -> None:
    crowd, arguments = waiting_for_one(world)
    with taking_part(crowd, world.url):
        first = Process(*arguments)
        assert until(lambda: posted_in_commit(world) == PARTIES - 1)
        status = facts("session", "status", world.root / "mine")
        during = shown(world)
        assert facts("session", "close", world.root / "mine")["rounds"] == 1
        assert first.wait() == FAILED_EXIT
    assert first.has_told("abort", reason="organiser")
    current = status["round"]
    assert isinstance(current, dict)
    assert current["phase"] == "commit"
    assert len(current["present"]) == PARTIES
    assert len(current["posted"]) == PARTIES - 1
    assert f"committing: {PARTIES - 1} have posted, {PARTIES} in the round" in during
    assert all(key[:16] in during for key in current["present"])
    refused(*arguments)
    found = world.findings()
    assert not found.faults
    assert [each.abort is not None for each in found.rounds] == [True]
    rounds = facts("session", "status", world.root / "mine")["rounds"]
    assert isinstance(rounds, list)
    assert [(each["outcome"], each["reason"]) for each in rounds] == [("abort", "organiser")]
    assert f"aborted: {ABORTS['organiser']}; {PUBLISHED['none']}; {PARTIES} had joined" in shown(
        world
    )


@pytest.mark.slow
def test_close_ends_a_round_that_nobody_runs(world: World) -> None:
    crowd, arguments = waiting_for_one(world)
    with taking_part(crowd, world.url):
        first = Process(*arguments)
        assert until(lambda: first.has_told("phase", phase="commit"))
        first.pause()
        hasty = ("session", "close", world.root / "mine", "--wait", "0")
        assert refused(*hasty).field == "--wait"
        first.send(signal.SIGKILL)
        assert facts("session", "close", world.root / "mine")["rounds"] == 1
        assert facts("session", "close", world.root / "mine")["rounds"] == 1
    (ended,) = world.findings().rounds
    assert ended.abort is not None


def test_close_before_anything_was_posted_posts_nothing(world: World) -> None:
    world.create()
    assert facts("session", "close", world.root / "mine")["rounds"] == 0
    assert not client(world.url).update().size
    refused("session", "open", world.root / "mine")


def test_close_needs_no_beacon(world: World) -> None:
    policy = world.root / "policy"
    witness = signer("witness.example/1", type(signer().verifier.kind)(4)).verifier
    policy.write_text(f"log {log_key()}\nwitness w {witness}\nquorum w\n")
    world.create("mine", "--beacon", "drand", "--policy", policy)
    assert facts("session", "close", world.root / "mine")["rounds"] == 0


@pytest.mark.soak
def test_one_process_runs_a_session(world: World) -> None:
    crowd, arguments = waiting_for_one(world)
    with taking_part(crowd, world.url):
        first = Process(*arguments)
        assert until(lambda: first.has_told("phase", phase="commit"))
        result = gopa(*arguments)
        assert isinstance(result.exception, VaultError)
        assert first.send(signal.SIGTERM) == 130


@pytest.mark.slow
def test_sealed_session_is_opened_with_its_passphrase_only(world: World) -> None:
    (world.root / "words").write_text("correct horse\n")
    sealed = ("--passphrase-file", world.root / "words")
    world.create("mine", *sealed)
    quick = ("--join-seconds", "0", "--poll", "0.02", "--json")
    arguments = ("session", "open", world.root / "mine", *quick)
    refused(*arguments)  # nobody is there to be asked
    result = gopa(*arguments, env={"GOPA_PASSPHRASE": "wrong"})
    assert isinstance(result.exception, WrongSecret)
    told = lines(gopa(*arguments, *sealed), FAILED_EXIT)
    aborts = [each["reason"] for each in told if each["event"] == "abort"]
    assert aborts == ["too_few_joined"] * 3
    lines(gopa(*arguments, env={"GOPA_PASSPHRASE": "correct horse"}), FAILED_EXIT)


@pytest.mark.parametrize("sealed", [False, True])
def test_an_organiser_has_its_key_before_its_session(tmp_path: Path, sealed: bool) -> None:
    """So that a board can be told who may begin sessions, once for all of them."""
    secret: tuple[object, ...] = ()
    if sealed:
        (tmp_path / "words").write_text("correct horse\n")
        secret = ("--passphrase-file", tmp_path / "words")
    made = facts("keygen", tmp_path / "org", *secret)
    assert read_keys(tmp_path / "org.pub") == [bytes.fromhex(str(made["public"]))]
    given = ("--identity", tmp_path / "org", *secret)
    organisers = Limits.of(read_keys(tmp_path / "org.pub"))
    admission = lambda: ProtocolAdmission(organisers)  # noqa: E731 - a factory
    with live_board(tmp_path / "board", admission=admission) as url:
        world = World(url, tmp_path)
        for name in ("first", "second"):
            created = world.create(name, *given)
            assert (created["organiser"], created["sealed"]) == (made["public"], sealed)
            quick = ("--join-seconds", "0", "--poll", "0.02", "--json")
            gopa("session", "open", tmp_path / name, *quick, *secret)
            assert world.findings(name).manifest is not None
        created = world.create("another")
        assert created["organiser"] != made["public"]
        result = gopa("session", "open", tmp_path / "another", "--poll", "0.02", "--json")
        assert result.exit_code == FAILED_EXIT
    world.create("third", "--offline", *given)
    before = set(tmp_path.iterdir())
    for wrong in (
        ("--identity", tmp_path / "nothing"),
        ("--identity", tmp_path / "org.pub"),
        ("--identity", tmp_path / "org", "--key-file", tmp_path / "words"),
        *(() if sealed else [(*given, "--passphrase")]),
    ):
        line = ("session", "create", tmp_path / "fourth", "--offline", *world.arguments())
        assert gopa(*line, *wrong).exit_code
        assert set(tmp_path.iterdir()) == before


def test_commands_in_the_wrong_order_say_what_to_do(world: World) -> None:
    nothing = world.root / "nothing"
    for command in ("open", "close", "status"):
        refused("session", command, nothing)
    nothing.mkdir()
    for command in ("open", "close", "status"):
        refused("session", command, nothing)
    (nothing / "ticket.json").write_text("{}")
    for command in ("open", "close", "status"):
        refused("session", command, nothing)
    world.create()
    facts("session", "status", world.root / "mine")


def test_session_with_a_beacon_says_that_it_needs_a_source(world: World) -> None:
    policy = world.root / "policy"
    witness = signer("witness.example/1", type(signer().verifier.kind)(4)).verifier
    policy.write_text(f"log {log_key()}\nwitness w {witness}\nquorum w\n")
    world.create("mine", "--beacon", "drand", "--policy", policy)
    refused("session", "open", world.root / "mine", "--json")
    assert not client(world.url).update().size


def test_times_that_make_no_sense_are_refused(world: World) -> None:
    world.create()
    assert refused("session", "open", world.root / "mine", "--join-seconds", "-1").field == "join"
    assert refused("session", "open", world.root / "mine", "--pause", "nan").field == "pause"


def test_nothing_secret_is_shown(world: World) -> None:
    (world.root / "words").write_text("correct horse\n")
    sealed = ("--passphrase-file", world.root / "words")
    made = json.dumps(world.create("mine", *sealed))
    result = gopa("session", "open", world.root / "mine", "--join-seconds", "0", "--json", *sealed)
    shown = made + result.stdout + result.stderr
    assert "correct horse" not in shown
    assert os.environ.get("GOPA_PASSPHRASE") is None
