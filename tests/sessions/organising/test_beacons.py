"""Coins from a beacon: who names the round, whose checkpoint counts, what is believed."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bulletin_board.client.http import NetworkError, Response
from gopa.contract.beacon import LEAGUE_OF_ENTROPY, QUICKNET
from gopa.contract.beacon.drand import DISTANCE
from gopa.contract.manifest import DrandBeacon
from gopa.contract.organiser import Abort, AbortReason, ResultMessage
from gopa.contract.phases import Phase
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.rules import BeaconValue
from gopa.protocol.simulation import SimulatedWitnesses
from gopa.sessions.organising import (
    AwaitingBeacon,
    BadBeacon,
    BeaconSource,
    DrandFile,
    DrandUrl,
    PhaseOpened,
    RoundEnded,
    Schedule,
    Send,
    beacons,
    drand_source,
    parse_round,
)
from gopa.sessions.organising.beacons import verified
from tests.contract.beacon.rounds import ROUNDS, Published
from tests.randomness import seeded
from tests.sessions.organising.worlds import (
    DEADLINES,
    ONE_ROUND,
    PHASE,
    Clock,
    Crash,
    Office,
    crowd,
)
from wire.errors import InvalidProof, MalformedMessage, UsageError

QUICK = next(each for each in ROUNDS if each.chain == QUICKNET and each.number > 1000)
CHAINED = next(each for each in ROUNDS if each.chain == LEAGUE_OF_ENTROPY and each.number > 1000)
MARGIN = 30.0


def served(published: Published) -> dict[str, object]:
    found: dict[str, object] = {
        "round": published.number,
        "randomness": "00" * 32,
        "signature": published.signature.hex(),
    }
    if published.previous is not None:
        found["previous_signature"] = published.previous.hex()
    return found


@dataclass
class Shown:
    """A beacon that shows one round, from a time on."""

    published: Published
    clock: Clock
    since: float = 0.0
    signature: bytes | None = None
    asked: list[int] = field(default_factory=list)

    async def value(self, number: int) -> BeaconValue | None:
        self.asked.append(number)
        if number != self.published.number or self.clock.now < self.since:
            return None
        signature = self.signature or self.published.signature
        return BeaconValue(number, signature, self.published.previous or b"")


def before(published: Published) -> float:
    """The moment at which an organiser names exactly this round."""
    return published.chain.time_of(published.number) - DISTANCE * published.chain.period - MARGIN


def office(published: Published = QUICK) -> Office:
    """Witnesses cosign with the time that it is."""
    clock = Clock(before(published))
    terms = replace(ONE_ROUND, beacon="drand")
    witnesses = SimulatedWitnesses.fresh(3, seeded("witnesses"), time=int(clock.now))
    world = crowd(terms, SessionSetting(beacon=DrandBeacon(published.chain)), witnesses=witnesses)
    world.witnesses = None
    world.date = lambda: int(clock.now)
    world.cosigned = lambda note: replace(witnesses, time=int(clock.now)).cosigned(note)
    schedule = Schedule(DEADLINES, beacon_margin=MARGIN)
    return Office(world, clock=clock, schedule=schedule, beacon=Shown(published, clock))


def outcome(found: Office) -> RoundEnded:
    return [each for each in found.told if isinstance(each, RoundEnded)][-1]


def test_coins_wait_for_the_beacon_and_for_nobody_else() -> None:
    found = office()
    begun = found.clock.now
    assert found.run().over
    assert isinstance(outcome(found).outcome, ResultMessage)
    due = QUICK.chain.time_of(QUICK.number)
    assert [each for each in found.told if isinstance(each, AwaitingBeacon)] == [
        AwaitingBeacon(1, QUICK.number, float(due))
    ]
    assert due <= found.clock.now <= due + 10
    assert found.clock.now - begun >= MARGIN
    audited = found.world.findings()
    assert audited.complete
    assert not audited.faults


@pytest.mark.slow
def test_early_checkpoint_is_kept_over_a_restart() -> None:
    """A checkpoint that is cosigned after the value is known proves nothing (04-V4)."""
    found = office()

    def coins() -> bool:
        return any(isinstance(each, AwaitingBeacon) for each in found.told)

    def crash() -> bool:
        if coins() and found.processes == 1:
            raise Crash
        return False

    found.world.cut_off = crash
    with pytest.raises(Crash):
        found.run()
    found.clock.now = QUICK.chain.time_of(QUICK.number) + 1.0
    assert found.run().over
    assert isinstance(outcome(found).outcome, ResultMessage)
    assert not found.world.findings().faults


@pytest.mark.slow
def test_round_without_an_early_checkpoint_is_given_up() -> None:
    """The organiser was away when the list was made: it cannot go on with this round."""
    found = office()
    first = found.organiser()
    world, read = found.world, 0
    for _ in range(20):
        first.take(world.cast.board.entries[read:])
        read = world.cast.board.size
        first.reached(*asyncio.run(world.newest()))
        act = first.act()
        assert isinstance(act, Send)
        world._spread(world.cast.board.post(act.entries))
        current = first.state.round
        if len(found.vault.journal()) and current is not None and current.opens is Phase.JOIN:
            break
    found.clock.now = QUICK.chain.time_of(QUICK.number) + 1.0
    found.beacon = Shown(QUICK, found.clock)
    found.run()
    ended = [each for each in found.told if isinstance(each, RoundEnded)]
    assert isinstance(ended[0].outcome, Abort)
    assert ended[0].outcome.reason is AbortReason.ORGANISER
    assert ended[0].why
    assert not world.findings().faults


def test_value_that_does_not_come_ends_the_round() -> None:
    found = office()
    found.beacon = Shown(QUICK, found.clock, since=1e12)
    found.run()
    ended = [each for each in found.told if isinstance(each, RoundEnded)]
    assert [each.outcome.reason for each in ended if isinstance(each.outcome, Abort)] == [
        AbortReason.ORGANISER
    ] * ONE_ROUND.attempts
    coins = [each for each in found.told if isinstance(each, PhaseOpened)][1]
    assert coins.phase is Phase.COINS
    assert coins.ends == QUICK.chain.time_of(QUICK.number) + PHASE
    assert not found.world.findings().faults


def test_value_that_the_beacon_did_not_sign_is_not_used() -> None:
    found = office()
    other = next(each for each in ROUNDS if each.chain == QUICKNET and each != QUICK)
    found.beacon = Shown(QUICK, found.clock, signature=other.signature)
    found.run()
    assert [type(each) for each in found.told].count(BadBeacon) == 1
    assert isinstance(outcome(found).outcome, Abort)
    assert not found.world.findings().faults


def test_session_with_a_beacon_needs_a_source() -> None:
    found = office()
    found.beacon = None
    with pytest.raises(UsageError):
        found.run()
    assert not found.world.cast.board.size


def ask(source: BeaconSource, published: Published) -> BeaconValue | None:
    return asyncio.run(source.value(published.number))


@pytest.mark.parametrize("published", [QUICK, CHAINED], ids=["unchained", "chained"])
@pytest.mark.parametrize("form", ["one object", "pretty", "lines"])
def test_file_of_rounds(tmp_path: Path, published: Published, form: str) -> None:
    path = tmp_path / "rounds.json"
    source = drand_source(str(path))
    assert isinstance(source, DrandFile)
    assert ask(source, published) is None
    text = json.dumps(served(published), indent=2 if form == "pretty" else None)
    if form == "lines":
        text = f"{json.dumps(served(ROUNDS[0]))}\n\n{text}\n"
    path.write_text(text)
    found = ask(source, published)
    assert found == BeaconValue(published.number, published.signature, published.previous or b"")
    later = replace(published, number=published.number + 1)
    assert ask(source, later) is None


@pytest.mark.slow
@pytest.mark.parametrize("published", [QUICK, CHAINED], ids=["unchained", "chained"])
def test_value_holds_for_its_round_alone(published: Published) -> None:
    chain, value = published.chain, parse_round(json.dumps(served(published)).encode())
    assert asyncio.run(verified(value, chain, published.number)) == value
    with pytest.raises(InvalidProof):
        asyncio.run(verified(value, chain, published.number + 1))


def test_relay_may_show_a_previous_signature_that_the_chain_does_not_have() -> None:
    shown = parse_round(json.dumps(served(QUICK) | {"previous_signature": "00"}).encode())
    assert shown.previous
    assert asyncio.run(verified(shown, QUICK.chain, QUICK.number)).previous == b""


@dataclass
class Relay:
    """A drand relay that answers this."""

    answers: dict[str, bytes | None]
    asked: list[str] = field(default_factory=list)

    def request(
        self, method: str, url: str, *, body: bytes | None, media_type: str, limit: int
    ) -> Response:
        assert (method, body, media_type) == ("GET", None, "")
        assert limit <= 65_536
        self.asked.append(url)
        answer = self.answers.get(url)
        if url in self.answers and answer is None:
            raise NetworkError("nobody answers")
        return Response(404, {}, b"") if answer is None else Response(200, {}, answer)


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ("https://relay.example/chain/", "https://relay.example/chain/public/"),
        ("https://relay.example/chain", "https://relay.example/chain/public/"),
    ],
    ids=["with slash", "without slash"],
)
def test_relay_is_asked_for_the_round(address: str, asked: str) -> None:
    place = f"{asked}{QUICK.number}"
    relay = Relay({place: json.dumps(served(QUICK)).encode()})
    found = ask(DrandUrl(address, relay), QUICK)
    assert found is not None
    assert found.signature == QUICK.signature
    assert relay.asked == [place]


def test_relay_with_a_place_for_the_number() -> None:
    relay = Relay({f"https://r.example/v2/{QUICK.number}.json": json.dumps(served(QUICK)).encode()})
    assert ask(DrandUrl("https://r.example/v2/{round}.json", relay), QUICK) is not None


def test_relay_that_lags_or_is_away_is_asked_again() -> None:
    relay = Relay({})
    source = DrandUrl("https://r.example", relay)
    assert ask(source, QUICK) is None
    relay.answers[f"https://r.example/public/{QUICK.number}"] = None
    assert ask(source, QUICK) is None
    relay.answers[f"https://r.example/public/{QUICK.number}"] = json.dumps(served(QUICK)).encode()
    assert ask(source, QUICK) is not None


def test_relay_that_shows_another_round_is_not_believed() -> None:
    place = f"https://r.example/public/{QUICK.number}"
    source = DrandUrl("https://r.example", Relay({place: json.dumps(served(QUICK)).encode()}))
    assert ask(source, QUICK) is not None
    source = DrandUrl("https://r.example", Relay({place: json.dumps(served(CHAINED)).encode()}))
    with pytest.raises(MalformedMessage) as caught:
        ask(source, QUICK)
    assert caught.value.field == "round"


WRONG: dict[str, tuple[dict[str, object], str]] = {
    "no round": ({"round": None}, "round"),
    "truth": ({"round": True}, "round"),
    "zero": ({"round": 0}, "round"),
    "large": ({"round": 2**64}, "round"),
    "text": ({"round": "5"}, "round"),
    "no signature": ({"signature": None}, "signature"),
    "odd": ({"signature": "abc"}, "signature"),
    "no hex": ({"signature": "zz"}, "signature"),
    "empty": ({"signature": ""}, "signature"),
    "long": ({"signature": "00" * 97}, "signature"),
    "previous": ({"previous_signature": 5}, "previous_signature"),
}


@pytest.mark.parametrize(("change", "name"), WRONG.values(), ids=WRONG)
def test_round_is_read_strictly(change: dict[str, object], name: str) -> None:
    good = served(CHAINED)
    assert parse_round(json.dumps(good).encode()).round == CHAINED.number
    with pytest.raises(MalformedMessage) as caught:
        parse_round(json.dumps(good | change).encode())
    assert caught.value.field == name


@pytest.mark.parametrize("data", [b"", b"[]", b"5", b"{", b"\xff", b"[" * 100_000])
def test_no_round_at_all(data: bytes) -> None:
    parse_round(json.dumps(served(QUICK)).encode())
    with pytest.raises(MalformedMessage):
        parse_round(data)


def test_address_is_one_of_the_web() -> None:
    DrandUrl("https://r.example", Relay({}))
    with pytest.raises(UsageError):
        drand_source("ftp://r.example")


def test_file_of_rounds_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever else writes it could fill the organiser's memory, each time it is read."""
    monkeypatch.setattr(beacons, "LARGEST_FILE", 1_000)
    path, line = tmp_path / "rounds.json", json.dumps(served(QUICK)).encode()
    path.write_bytes(line.ljust(1_000, b"\n"))
    assert ask(DrandFile(path), QUICK) is not None
    path.write_bytes(line.ljust(1_001, b"\n"))
    with pytest.raises(UsageError):
        ask(DrandFile(path), QUICK)


def test_directory_is_no_file_of_rounds(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        ask(DrandFile(tmp_path), QUICK)
