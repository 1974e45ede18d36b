"""Whole runs of two parties: results, wrong messages, wrong labels, and what shows of secrets."""

from __future__ import annotations

import copy
import io
import logging
import multiprocessing
import os
import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import Any

import numpy as np
import pytest

from commitments import ristretto255
from commitments.group import Group
from gopa import GopaError, MalformedMessage, UsageError
from gopa.twoparty import (
    Builder,
    Circuit,
    Evaluator,
    Garbler,
    OutOfTurn,
    WrongLabel,
    comparison,
    concordance,
    converse,
    distance,
    equality,
    laplace_noise,
    randomised_answer,
    traffic,
)
from gopa.twoparty import parties as parties_module
from gopa.twoparty.conversation import HEADER
from gopa.twoparty.labels import GarbledRun, fresh_offset
from tests.group.backends import installed_groups
from tests.randomness import seeded
from tests.twoparty.runs import CONTEXT, Pair, pair
from wire.errors import ProtocolError, Unattributed

FEW = comparison(6)
MANY = comparison(6, laplace_noise(1))
BOTH = pytest.mark.parametrize("circuit", [FEW, MANY], ids=["by points", "extended"])
VALUES = [9], [44]


@pytest.mark.parametrize("group", installed_groups(), ids=lambda group: group.backend)
@pytest.mark.parametrize(
    ("circuit", "mine", "yours", "result"),
    [
        (comparison(16), [7], [7], 0),
        (comparison(16), [7], [8], 1),
        (equality(9), [300], [300], 1),
        (distance(12), [4000], [3], 3997),
        (concordance(5), [3, 9], [4, 8], -1),
        (concordance(5), [3, 9], [4, 9], 0),
        (concordance(5), [3, 9], [4, 10], 1),
        (distance(62), [0], [2**62 - 1], 2**62 - 1),
    ],
)
def test_both_learn_the_result(
    group: Group, circuit: Circuit, mine: list[int], yours: list[int], result: int
) -> None:
    assert pair(circuit, mine, yours, group=group).run()[0] == result


def test_extension_begins_at_128_bits() -> None:
    sizes = []
    for width in (54, 55):  # and 73 or 74 coins, below
        circuit = comparison(width, randomised_answer(2, 1, coins=73))
        sizes.append((circuit.evaluator_bits, len(pair(circuit, [1], [2]).evaluator.start())))
    assert [bits for bits, _ in sizes] == [127, 128]
    assert sizes[0][1] > 0
    assert sizes[1][1] == 0


@BOTH
def test_traffic_is_known_beforehand(circuit: Circuit) -> None:
    frames = [frame for _, frame in pair(circuit, *VALUES).messages()]
    assert traffic(circuit) == (len(frames), sum(map(len, frames)))


def test_sizes_are_those_of_the_specification() -> None:
    """Without transfer a comparison of 16 bits is its tables, two tags and a seed."""
    circuit = comparison(16)
    frames = [frame for _, frame in pair(circuit, [1], [2]).messages()]
    choices, garbled, result = (len(frame) - HEADER for frame in frames)
    transfer = 32 + 16 * 16
    assert (choices, result) == (32 * 16, 16)
    assert garbled - transfer == 32 * 16 + 32 + 16
    assert garbled - transfer + result + 2 * HEADER <= 800


# Wrong messages


def frames_of(circuit: Circuit, context: bytes = CONTEXT, seed: str = "run") -> list[bytes]:
    made = pair(circuit, *VALUES, rng=seeded(seed), context=context)
    return [frame for _, frame in made.messages()]


def waiting(circuit: Circuit, count: int) -> tuple[Pair, Garbler | Evaluator, bytes]:
    """Parties before one of their messages, who waits for it, and the message."""
    parties = pair(circuit, *VALUES, rng=seeded("run"))
    messages = parties.messages()
    for _ in range(count - 1):
        next(messages)
    return parties, *next(messages)


def until(circuit: Circuit, count: int, change: Callable[[bytes], bytes]) -> Pair:
    """Parties after `count` messages, the last of them changed."""
    parties, receiver, frame = waiting(circuit, count)
    receiver.step(change(frame))
    return parties


@BOTH
def test_unchanged_messages_are_taken(circuit: Circuit) -> None:
    count = len(frames_of(circuit))
    assert count == (3 if circuit is FEW else 4)
    for each in range(1, count + 1):
        until(circuit, each, lambda frame: frame)


@BOTH
def test_every_message_of_another_length_is_malformed(circuit: Circuit) -> None:
    for count, own in enumerate(frames_of(circuit), 1):
        _, receiver, frame = waiting(circuit, count)
        assert frame == own
        assert receiver.check(frame[:HEADER]) == len(frame) - HEADER
        wrong = [frame[: HEADER - 1], frame[: HEADER + 1], b""]
        sizes = (0, len(frame) - HEADER - 1, len(frame) - HEADER + 1, 2**32 - 1)
        for header in [*wrong, *(frame[:1] + size.to_bytes(4) + frame[5:HEADER] for size in sizes)]:
            with pytest.raises(MalformedMessage):
                receiver.check(header)
        with pytest.raises(MalformedMessage):
            receiver.step(frame[:-1])
        with pytest.raises(MalformedMessage):
            until(circuit, count, lambda frame: frame + b"\0")
        with pytest.raises(MalformedMessage):
            until(circuit, count, lambda frame: frame[:4] + bytes([frame[4] ^ 1]) + frame[5:])


@BOTH
def test_every_message_out_of_turn_is_refused(circuit: Circuit) -> None:
    """Reordered, replayed, of another run, another context or another circuit."""
    own = frames_of(circuit)
    other = frames_of(circuit, seed="another run")
    strange = frames_of(circuit, context=CONTEXT.replace(b"7", b"8"))[:2]
    strange += frames_of(equality(6))[:1] + frames_of(comparison(7))[:1]
    for count, right in enumerate(own, 1):
        _, receiver, _ = waiting(circuit, count)
        wrongs = [frame for at, frame in enumerate(own, 1) if at != count] + strange
        wrongs += other if count > 1 else other[1:]  # a first message belongs to no run yet
        wrongs += [bytes([kind]) + right[1:] for kind in {0, 1, 2, 3, 4, 5} - {right[0]}]
        for wrong in wrongs:
            with pytest.raises(OutOfTurn):
                receiver.check(wrong[:HEADER])
        with pytest.raises(OutOfTurn):
            receiver.step(other[count % len(own)])


@pytest.mark.parametrize(
    ("circuit", "count", "at"), [(FEW, 1, 0), (FEW, 2, 16), (MANY, 1, 0), (MANY, 2, 0)]
)
@pytest.mark.parametrize("point", [bytes(32), bytes([255] * 32)], ids=["identity", "no point"])
def test_a_point_that_no_honest_party_sends_is_malformed(
    circuit: Circuit, count: int, at: int, point: bytes
) -> None:
    def replaced(frame: bytes) -> bytes:
        return frame[: HEADER + at] + point + frame[HEADER + at + 32 :]

    with pytest.raises(MalformedMessage):
        until(circuit, count, replaced)


@BOTH
def test_a_changed_byte_anywhere_ends_in_a_typed_error(circuit: Circuit) -> None:
    """At the latest when the next message comes: each carries a hash of all before it."""
    draws = np.random.default_rng(4)
    for count, frame in enumerate(frames_of(circuit), 1):
        for place in {0, 1, 5, HEADER, len(frame) - 1, int(draws.integers(0, len(frame)))}:
            changed = bytearray(frame)
            changed[place] ^= 1 << int(draws.integers(0, 8))
            parties = pair(circuit, *VALUES, rng=seeded("run"))
            with pytest.raises(ProtocolError):
                go_on_after(parties, count, bytes(changed))


def go_on_after(parties: Pair, count: int, changed: bytes) -> None:
    """Puts another message in the place of one, and its answer before the other party."""
    for at, (receiver, _) in enumerate(parties.messages(), 1):
        if at == count:
            answer = receiver.step(changed)
            assert answer, "the last message was taken"
            other = parties.garbler if receiver is parties.evaluator else parties.evaluator
            other.step(answer)


def test_every_run_has_a_key_of_its_own() -> None:
    seen = {
        (run.key, run.labels)
        for conversation in (bytes(32), bytes(31) + b"\1")
        for seed in (bytes(16), bytes(15) + b"\1")
        for run in [GarbledRun.derive(ristretto255(), FEW, conversation, seed)]
    }
    assert len({key for key, _ in seen}) == 4
    labels = [known[at : at + 16] for _, known in seen for at in range(0, len(known), 16)]
    assert len(set(labels)) == len(labels) == 4 * FEW.garbler_bits


def test_an_empty_answer_of_the_last_message_means_it_was_accepted() -> None:
    parties = pair(FEW, *VALUES)
    for receiver, frame in parties.messages():
        last = receiver, frame
    assert last[0] is parties.garbler
    assert parties.garbler.result == 1


@BOTH
def test_wrong_labels_are_refused(circuit: Circuit) -> None:
    last = len(frames_of(circuit))

    def swapped(frame: bytes) -> bytes:
        return frame[:HEADER] + frame[HEADER + 16 :] + frame[HEADER : HEADER + 16]

    def of_another_run(frame: bytes) -> bytes:
        return frame[:HEADER] + frames_of(circuit, seed="another run")[-1][HEADER:]

    def flipped(frame: bytes) -> bytes:
        return frame[:HEADER] + bytes([frame[HEADER] ^ 1]) + frame[HEADER + 1 :]

    changes = [of_another_run, flipped, *([swapped] if circuit is MANY else [])]
    for change in changes:
        with pytest.raises(WrongLabel) as caught:
            until(circuit, last, change)
        assert caught.value.output == 0

    def spoiled(frame: bytes) -> bytes:
        """Other tables: the evaluator gets labels that nobody made."""
        start = len(frame) - 32 * (circuit.ands + len(circuit.outputs))
        return frame[:start] + bytes(32 * circuit.ands) + frame[start + 32 * circuit.ands :]

    with pytest.raises(WrongLabel):
        until(circuit, last - 1, spoiled)


@BOTH
def test_after_an_error_a_party_is_done(circuit: Circuit) -> None:
    parties = pair(circuit, *VALUES)
    receiver, frame = next(parties.messages())
    with pytest.raises(MalformedMessage):
        receiver.step(frame[:-1])
    with pytest.raises(UsageError):
        receiver.step(frame)
    assert receiver.result is None


def test_a_party_runs_once() -> None:
    parties = pair(FEW, *VALUES)
    with pytest.raises(UsageError):
        parties.garbler.step(b"")
    parties.run()
    for party in parties:
        with pytest.raises(UsageError):
            party.start()
        with pytest.raises(UsageError):
            party.step(b"")
    closed = pair(FEW, *VALUES).evaluator
    closed.close()
    with pytest.raises(UsageError):
        closed.start()


def test_careless_users_are_told() -> None:
    wrong: Any
    for wrong in ("round 7", bytes(256), None, 7):
        with pytest.raises(UsageError):
            Garbler(FEW, [1], context=wrong, rng=os.urandom)
    for wrong in ([], [1, 2], [64], [-1], [0.5], ["1"]):
        with pytest.raises(UsageError):
            Evaluator(FEW, wrong, context=CONTEXT, rng=os.urandom)
    not_a_list: Any = 9
    with pytest.raises(UsageError):
        Garbler(FEW, not_a_list, context=CONTEXT, rng=os.urandom)
    coins: Any
    for coins in (bytes(5), bytearray(64 * 6)):
        with pytest.raises(UsageError):
            Evaluator(FEW, [1], context=CONTEXT, rng=lambda _, coins=coins: coins).start()  # type: ignore[misc]


# What shows of secrets


class Recording:
    """A source of randomness that remembers what it gave."""

    def __init__(self) -> None:
        self.given: list[bytes] = []
        self._rng = seeded("recorded")

    def __call__(self, count: int) -> bytes:
        self.given.append(self._rng(count))
        return self.given[-1]


@BOTH
def test_secrets_show_in_no_repr_log_or_error(
    circuit: Circuit, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    mine, yours = Recording(), Recording()
    parties = Pair(
        Garbler(circuit, VALUES[0], context=CONTEXT, rng=mine),
        Evaluator(circuit, VALUES[1], context=CONTEXT, rng=yours),
    )
    shown = [repr(parties), f"{parties.garbler} {parties.evaluator}"]
    messages = parties.messages()
    last = next(frame for _, frame in messages if frame[0] == 4)
    shown.append(repr(parties))
    with pytest.raises(WrongLabel) as caught:
        parties.garbler.step(last[:-1] + bytes([last[-1] ^ 4]))
    shown += [repr(caught.value), str(caught.value), caplog.text]
    assert "secret" in shown[0]
    text = "".join(shown)
    for secret in filter(len, mine.given + yours.given):
        assert secret.hex() not in text
        assert repr(secret)[2:-1] not in text
        assert str(list(secret))[1:-1] not in text
    for party in parties:
        for refused in (pickle.dumps, copy.copy, hash):
            with pytest.raises(UsageError):
                refused(party)


@BOTH
def test_no_message_has_the_offset_in_it(circuit: Circuit) -> None:
    mine = Recording()
    parties = Pair(
        Garbler(circuit, VALUES[0], context=CONTEXT, rng=mine),
        Evaluator(circuit, VALUES[1], context=CONTEXT, rng=seeded("yours")),
    )
    written = b"".join(frame for _, frame in parties.messages())
    blocks = {written[at : at + 16] for at in range(len(written))}
    (seed,) = (given for given in mine.given if len(given) == 16)
    assert seed in blocks
    drawn = next(given for given in mine.given if len(given) == 32)
    offset = bytes(a ^ b for a, b in zip(drawn[:16], drawn[16:], strict=True))
    assert bytes([offset[0] | 1]) + offset[1:] not in blocks


# Over sockets


def speak(party: Garbler | Evaluator, connection: socket.socket, answers: list[Any]) -> None:
    try:
        answers.append(converse(party, connection, seconds=5))
    except GopaError as error:
        answers.append(error)
        connection.close()


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    left, right = socket.socketpair()
    with left, right:
        yield left, right


@BOTH
def test_parties_converse(circuit: Circuit) -> None:
    answers: list[Any] = []
    with connected() as (left, right):
        parties = pair(circuit, *VALUES, rng=os.urandom)
        thread = threading.Thread(target=speak, args=(parties.evaluator, right, answers))
        thread.start()
        speak(parties.garbler, left, answers)
        thread.join()
    assert answers[0] == answers[1]
    assert type(answers[0]) is int


@BOTH
def test_a_connection_that_ends_is_an_error(circuit: Circuit) -> None:
    frames = frames_of(circuit)
    to_garbler = [
        at
        for at, frame in enumerate(frames)
        if frame[0] in {2, 4} or (circuit is FEW and frame[0] == 1)
    ]
    for keep, kind in [(0, Unattributed), (5, MalformedMessage), (HEADER + 3, MalformedMessage)]:
        with connected() as (left, right):
            garbler = pair(circuit, *VALUES, rng=seeded("run")).garbler
            answers: list[Any] = []
            right.sendall(frames[to_garbler[0]][:keep])
            right.shutdown(socket.SHUT_WR)
            speak(garbler, left, answers)
            # An extended run begins with a message of the garbler, which this tag does not follow.
            assert isinstance(answers[0], kind | OutOfTurn if circuit is MANY else kind)


def test_nobody_waits_forever_or_reads_what_is_too_long() -> None:
    with connected() as (left, right):
        garbler = pair(FEW, *VALUES).garbler
        with pytest.raises(Unattributed):
            converse(garbler, left, seconds=0.05)
    with connected() as (left, right):
        dripping = threading.Thread(target=drip, args=(right, frames_of(FEW)[0]))
        dripping.start()
        with pytest.raises(Unattributed):
            converse(pair(FEW, *VALUES, rng=seeded("run")).garbler, left, seconds=0.1)
        left.close()
        dripping.join()
        assert right.recv(1) == b"", "the message was waited for and answered"
    with connected() as (left, right):
        frame = frames_of(FEW)[0]
        right.sendall(frame[:1] + (2**32 - 1).to_bytes(4) + frame[5:HEADER])
        with pytest.raises(MalformedMessage) as caught:
            converse(pair(FEW, *VALUES, rng=seeded("run")).garbler, left, seconds=5)
        assert caught.value.field == "length"


def drip(connection: socket.socket, frame: bytes) -> None:
    """A byte now and then, for longer than anybody should wait."""
    for byte in frame:
        sleep(0.002)
        try:
            connection.sendall(bytes([byte]))
        except OSError:
            return


@BOTH
def test_a_connection_that_cannot_be_used_ends_the_run(circuit: Circuit) -> None:
    with connected() as (left, _):
        wrong: Any
        for wrong in (0, -1, float("nan"), float("inf")):
            with pytest.raises(UsageError) as caught:
                converse(pair(circuit, *VALUES).garbler, left, seconds=wrong)
            assert caught.value.field == "seconds"
    party = pair(circuit, *VALUES).garbler
    with pytest.raises(Unattributed):
        converse(party, left)
    with pytest.raises(UsageError):
        party.start()


def evaluate_many(connection: socket.socket, circuit: Circuit, runs: int) -> None:
    """The other process: one new party for each run."""
    for run in range(runs):
        yours = int.from_bytes(os.urandom(2)) & 63
        party = Evaluator(circuit, [yours], context=b"run %d" % run, rng=os.urandom)
        converse(party, connection)
        connection.sendall(bytes([yours]))


@pytest.mark.parametrize("runs", [10, pytest.param(1000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_runs_between_processes(method: str, runs: int) -> None:
    with connected() as (left, right):
        context: Any = multiprocessing.get_context(method)
        process = context.Process(target=evaluate_many, args=(right, FEW, runs))
        process.start()
        try:
            for run in range(runs):
                mine = int.from_bytes(os.urandom(2)) & 63
                party = Garbler(FEW, [mine], context=b"run %d" % run, rng=os.urandom)
                result = converse(party, left)
                assert result == (mine < left.recv(1)[0])
        finally:
            process.join(30)
        assert process.exitcode == 0


def test_errors_survive_pickling() -> None:
    for error in (OutOfTurn("a", "kind"), WrongLabel("a", 3)):
        again = pickle.load(io.BytesIO(pickle.dumps(error)))  # noqa: S301
        assert str(again) == str(error)
        assert again.args == error.args


@BOTH
def test_secrets_are_erased_whatever_happens(
    circuit: Circuit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the end, after a wrong message, when the connection ends, and when a user closes."""
    offsets: list[Any] = []
    bits: list[Any] = []

    def kept(made: list[Any], draw: Callable[..., Any]) -> Callable[..., Any]:
        def remembered(*arguments: Any) -> Any:
            made.append(draw(*arguments))
            return made[-1]

        return remembered

    def left() -> int:
        return sum(secret.any() for secret in offsets + bits)

    monkeypatch.setattr(parties_module, "fresh_offset", kept(offsets, fresh_offset))
    monkeypatch.setattr(Circuit, "bits_of", kept(bits, Circuit.bits_of))
    pair(circuit, *VALUES).run()
    assert (len(offsets), len(bits), left()) == (1, 2, 0)
    parties = pair(circuit, *VALUES)
    parties.evaluator.close()  # before it was started
    assert left() == 1
    parties.garbler.start()
    assert left() == 2
    with pytest.raises(MalformedMessage):
        parties.garbler.step(b"")
    assert left() == 0
    parties, receiver, frame = waiting(circuit, 1)
    assert left() == 3
    receiver.step(frame)
    parties.garbler.close()
    parties.evaluator.close()
    assert (len(offsets), len(bits), left()) == (3, 6, 0)
    with pytest.raises(UsageError):
        parties.garbler.step(frame)
    with connected() as (here, there):
        garbler = pair(circuit, *VALUES).garbler
        there.shutdown(socket.SHUT_WR)
        with pytest.raises(Unattributed):
            converse(garbler, here, seconds=5)
    assert left() == 1  # of the evaluator that nobody started or closed


@pytest.mark.parametrize("role", ["garbler", "evaluator"])
def test_one_party_alone_may_put_in_everything(role: Any) -> None:
    build = Builder()
    circuit = build.build(build.word(role, 5), low=-3)
    values = ([17], []) if role == "garbler" else ([], [17])
    assert pair(circuit, *values).run()[0] == 14
