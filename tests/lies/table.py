"""Every lie of a party, told once: what it does, at which step, and what comes of it.

`tests/lies/test_lies.py` tells each of them in every session of `tests/lies/worlds.py` in which it
means something, and both verifiers judge what came of it. Lies with a published log of their own
stand in `tests/vectors/transcripts`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from commitments import ristretto255
from gopa.adversary.deeds import (
    accuse,
    another_nonce,
    betray,
    copy_input,
    copy_key,
    copy_proof,
    copy_seed,
    other_seed,
    shift,
    spoil_proof,
    spoil_value,
    spoil_weighing,
    unproved_key,
    wrong_edge,
    wrong_key,
    wrong_recovery,
    wrong_seed,
    wrong_share,
)
from gopa.adversary.deeds.kinds import flipped
from gopa.contract.organiser import RemovalCause
from gopa.contract.party import About
from gopa.contract.phases import Phase
from gopa.protocol.simulation import Behaviour, Script
from gopa.protocol.simulation.script import Garbage, PostsLate, Skip, Twice, TwiceLater
from tests.lies import lying, says

PARTIES, LIAR, VICTIM, LEAVER = 6, 2, 4, 5
IDENTITY: Final = bytes(32)
POINT: Final = ristretto255().generator.to_bytes()

PROVED: Final = ("number", "vector", "exact")
"""Sessions with a proof of range for each party."""
RECOVERING: Final = (*PROVED, "words", "rows")
"""Sessions in which shares of self-masks are dealt."""
SEEDS: Final = ("vector", "words", "rows")
"""Those in which the shares are of seeds."""

INVALID, STRUCK, CONVICTED, ABSENT = (
    RemovalCause.INVALID,
    RemovalCause.STRUCK,
    RemovalCause.CONVICTED,
    RemovalCause.ABSENT,
)
Left = tuple[Phase, RemovalCause]
Alter = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Lie:
    """What party 2 does instead, the rules that name it for that, and how it leaves the lists.

    Without `rules` nobody is blamed, and without `left` the party stays. `beside` is another
    departure that gives it the occasion: party 5 leaves, or party 4 keeps its seed. `recovered` is
    the party whose self-mask its neighbours recover.
    """

    does: tuple[Behaviour, ...]
    rules: frozenset[str]
    left: Left | None
    beside: str = ""
    worlds: tuple[str, ...] = RECOVERING
    recovered: int | None = None

    def script(self, *, rows: bool) -> Script:
        """Whatever happens in the session."""
        script = Script().misbehave(LIAR, *self.does)
        if self.beside == "leaves":
            script = script.drop(LEAVER, before=Phase.PROVE if rows else Phase.PUBLISH)
        if self.beside == "vetoes":
            script = script.misbehave(VICTIM, Skip(Phase.UNMASK))
        return script


def lie(
    does: Behaviour | tuple[Behaviour, ...],
    rules: str = "",
    left: Left | None = None,
    *,
    beside: str = "",
    worlds: tuple[str, ...] = RECOVERING,
    recovered: int | None = None,
) -> Lie:
    """A lie; `rules` are separated by spaces."""
    whole = does if isinstance(does, tuple) else (does,)
    return Lie(whole, frozenset(rules.split()), left, beside, worlds, recovered)


def in_rows(phase: Phase, alter: Alter, rule: str, out: Phase | None = None) -> Lie:
    """A message about rows that is not so; it is out in the same phase, or in `out`."""
    return lie(says(phase, alter), rule, (out or phase, INVALID), worlds=("rows",))


def in_form(
    phase: Phase, alter: Alter, rule: str, worlds: tuple[str, ...] = ("rows", "forms")
) -> Lie:
    """The same of a message that is refused by its form alone, with a proof that holds.

    Behind a real proof a message with one item more is too long, which is another rule.
    """
    return replace(in_rows(phase, alter, rule), worlds=worlds)


def fewer(name: str) -> Alter:
    """One item less of a field."""
    return lambda said: replace(said, **{name: getattr(said, name)[1:]})


def again(name: str) -> Alter:
    """Its last item twice."""
    return lambda said: replace(said, **{name: (*getattr(said, name), *getattr(said, name)[-1:])})


def first(name: str, item: bytes) -> Alter:
    """Another first item of a field."""
    return lambda said: replace(said, **{name: (item, *getattr(said, name)[1:])})


def fields(**changes: Any) -> Alter:
    """Other fields."""
    return lambda said: replace(said, **changes)


def both(one: Alter, other: Alter) -> Alter:
    """Two wrong things in one message."""
    return lambda said: other(one(said))


def large_test(said: Any) -> Any:
    """A first test of 2^113: the least that is too large."""
    return replace(said, tests=b"\x02" + bytes(14) + said.tests[15:])


def more(phase: Phase, **changes: Any) -> Behaviour:
    """The message of a phase with other fields."""
    return says(phase, fields(**changes))


def shifted(by: int) -> tuple[Behaviour, ...]:
    """Another input from the beginning to the end."""
    return tuple(lying(phase, shift(by)) for phase in ("join", "commit", "publish"))


IN_JOIN, IN_COINS = (Phase.JOIN, INVALID), (Phase.COINS, INVALID)
IN_COMMIT, IN_PUBLISH = (Phase.COMMIT, INVALID), (Phase.PUBLISH, INVALID)
GUILTY: Final = (Phase.PUBLISH, CONVICTED)

LIES: Final[dict[str, Lie]] = {
    "key without possession": lie(lying("join", unproved_key()), "04-J3", IN_JOIN),
    "copied key": lie(lying("join", copy_key(VICTIM)), "04-J3", IN_JOIN),
    "copied seed of noise": lie(
        lying("join", copy_seed(VICTIM)), "", IN_JOIN, worlds=("number", "vector")
    ),
    "wrong nonce": lie(lying("coins", another_nonce()), "04-V1", IN_COINS),
    "withheld nonce": lie(Skip(Phase.COINS), "", (Phase.COINS, ABSENT)),
    "bad proof": lie(lying("commit", spoil_proof()), "04-K3", IN_COMMIT, worlds=PROVED),
    "copied proof": lie(lying("commit", copy_proof(VICTIM)), "04-K3", IN_COMMIT, worlds=PROVED),
    "bad proof where a weight is proved": lie(
        lying("commit", spoil_proof()), "04-K3", IN_COMMIT, worlds=("weights", "exact weights")
    ),
    "bad proof of a weight": lie(
        lying("commit", spoil_weighing()), "04-K3", IN_COMMIT, worlds=("weights", "exact weights")
    ),
    "input out of range": lie(shifted(1000), "04-K3", IN_COMMIT, worlds=("number", "exact")),
    "input of another": lie(
        lying("join", copy_input(VICTIM)), "04-K3", IN_COMMIT, worlds=("exact",)
    ),
    "edge that differs": lie(lying("commit", wrong_edge()), "04-A3", GUILTY),
    "wrong share": lie(lying("commit", wrong_share()), "04-A4", GUILTY),
    "false accusation": lie(lying("accuse", accuse()), "04-A1", GUILTY),
    "accusation without proof": lie(lying("accuse", accuse(proved=False)), "04-A1", GUILTY),
    "false accusation of a share": lie(lying("accuse", accuse(about=About.SHARE)), "04-A5", GUILTY),
    "accusation of a share without proof": lie(
        lying("accuse", accuse(about=About.SHARE, proved=False)), "04-A2", GUILTY
    ),
    "accusation of a share where none is dealt": lie(
        lying("accuse", accuse(about=About.SHARE)), "04-A1", GUILTY, worlds=("plain",)
    ),
    "wrong value": lie(lying("publish", spoil_value()), "04-P1", IN_PUBLISH, worlds=PROVED),
    "value that is one larger": lie(
        lying("publish", shift(1)), "04-P1", IN_PUBLISH, worlds=("number", "exact")
    ),
    "wrong opening": lie(
        lying("rollback", wrong_key()), "04-O2", (Phase.ROLLBACK, INVALID), beside="leaves"
    ),
    "refuses to open": lie(Skip(Phase.ROLLBACK), "", (Phase.ROLLBACK, ABSENT), beside="leaves"),
    "opens late": lie(PostsLate(Phase.ROLLBACK), "", (Phase.ROLLBACK, ABSENT), beside="leaves"),
    "proves late": lie(PostsLate(Phase.PROVE), "", (Phase.PROVE, ABSENT), worlds=("rows",)),
    "opens twice": lie(Twice(Phase.ROLLBACK), "04-E3", (Phase.ROLLBACK, STRUCK), beside="leaves"),
    "opens behind its confirmation": lie(
        lying("confirm", betray()), "04-F3 04-O5", beside="leaves"
    ),
    "refuses to confirm": lie(Skip(Phase.CONFIRM)),
    "refuses to unmask": lie(Skip(Phase.UNMASK), recovered=LIAR),
    "wrong seed": lie(lying("unmask", wrong_seed()), "04-U1", recovered=LIAR),
    "wrong share given out": lie(
        lying("recover", wrong_recovery()), "04-U3", beside="vetoes", recovered=VICTIM
    ),
    "another seed dealt, its own opened": lie(lying("commit", other_seed()), worlds=SEEDS),
    "two joins": lie(Twice(Phase.JOIN), "04-E3", (Phase.JOIN, STRUCK)),
    "two nonces": lie(Twice(Phase.COINS), "04-E3", (Phase.COINS, STRUCK)),
    "two commits": lie(Twice(Phase.COMMIT), "04-E3", (Phase.COMMIT, STRUCK)),
    "two values": lie(Twice(Phase.PUBLISH), "04-E3", (Phase.PUBLISH, STRUCK)),
    "two proofs": lie(Twice(Phase.PROVE), "04-E3", (Phase.PROVE, STRUCK), worlds=("rows",)),
    "two confirmations": lie(Twice(Phase.CONFIRM), "04-E3"),
    "two seeds": lie(Twice(Phase.UNMASK), "04-E3"),
    "second value after the final close": lie(
        TwiceLater(Phase.PUBLISH, Phase.PUBLISH), "04-E3", worlds=(*PROVED, "words")
    ),
    "second value after a close that is not final": lie(
        TwiceLater(Phase.PUBLISH, Phase.PUBLISH), "04-E3", (Phase.PROVE, STRUCK), worlds=("rows",)
    ),
    "second commit after the final close": lie(
        TwiceLater(Phase.COMMIT, Phase.PUBLISH), "04-E3", worlds=(*PROVED, "words")
    ),
    "no join": lie(Garbage(Phase.JOIN), "04-S4", IN_JOIN),
    "no nonce": lie(Garbage(Phase.COINS), "04-S4", IN_COINS),
    "no value": lie(Garbage(Phase.PUBLISH), "04-S4", IN_PUBLISH),
    "a seed where there is no noise": lie(
        more(Phase.JOIN, seed=POINT), "04-S4", IN_JOIN, worlds=("exact",)
    ),
    "a seed in place of the nonce": lie(
        more(Phase.JOIN, seed=POINT, nonce_hash=b""), "04-J2", IN_JOIN, worlds=("exact",)
    ),
    "an output where there is no noise": lie(
        more(Phase.COMMIT, output=POINT), "04-S4", IN_COMMIT, worlds=("exact",)
    ),
    "no proof": lie(more(Phase.COMMIT, proof=b""), "04-K1", IN_COMMIT, worlds=("exact",)),
    "row that hides nothing": in_form(Phase.JOIN, first("noise", IDENTITY), "14-L3"),
    "one row less": in_form(Phase.JOIN, fewer("input"), "14-M1"),
    "key that is none": in_form(Phase.JOIN, fields(key=IDENTITY), "04-J2"),
    "a key and a row less": in_form(
        Phase.JOIN, both(fields(key=IDENTITY), fewer("input")), "04-J2"
    ),
    "a row less and one that is none": in_form(
        Phase.JOIN, both(first("noise", IDENTITY), fewer("input")), "14-M1"
    ),
    "a row that is none and no knowledge of the key": in_form(
        Phase.JOIN, both(fields(possession=bytes(64)), first("input", b"\1" * 32)), "14-L3"
    ),
    "no hash of a nonce, and no knowledge of the key": in_form(
        Phase.JOIN, fields(possession=bytes(64), nonce_hash=b""), "04-J2"
    ),
    "another test": in_rows(
        Phase.COMMIT, lambda said: replace(said, tests=flipped(said.tests, 14)), "14-P3"
    ),
    "wrong bit in a proof": in_rows(
        Phase.COMMIT, lambda said: replace(said, proof=flipped(said.proof, 500)), "14-P3"
    ),
    "shorter proof": in_rows(Phase.COMMIT, fewer("proof"), "14-P3"),
    "test that is too large": in_form(Phase.COMMIT, large_test, "14-P3"),
    "one edge less": in_form(Phase.COMMIT, fewer("edges"), "04-K1"),
    "one edge more": in_form(Phase.COMMIT, again("edges"), "04-K1", ("forms",)),
    "an edge less and a large test": in_form(
        Phase.COMMIT, both(large_test, fewer("edges")), "04-K1"
    ),
    "one coefficient less": in_form(Phase.COMMIT, fewer("coefficients"), "04-K1"),
    "one share more": in_form(Phase.COMMIT, again("shares"), "04-K1", ("forms",)),
    "coefficient that is none": in_form(Phase.COMMIT, first("coefficients", IDENTITY), "04-K2"),
    "row of carries that hides nothing": in_form(
        Phase.PUBLISH, first("carries", IDENTITY), "14-L3"
    ),
    "one row of carries less": in_form(Phase.PUBLISH, fewer("carries"), "14-M1"),
    "one row of carries more": in_form(Phase.PUBLISH, again("carries"), "04-S4"),
    "row of pads that hides nothing": in_form(Phase.PUBLISH, first("pads", IDENTITY), "14-L3"),
    "one row of pads less": in_form(Phase.PUBLISH, fewer("pads"), "14-M1"),
    "too many words": in_rows(
        Phase.PUBLISH, lambda said: replace(said, value=said.value + b"\0"), "04-S4"
    ),
    "too few words": in_form(Phase.PUBLISH, fewer("value"), "04-P2"),
    "words and rows that are too few": in_form(
        Phase.PUBLISH, both(fewer("value"), fewer("carries")), "04-P2"
    ),
    "another word": in_rows(
        Phase.PUBLISH, lambda said: replace(said, value=flipped(said.value)), "14-P6", Phase.PROVE
    ),
    "other pads": in_rows(
        Phase.PUBLISH, lambda said: replace(said, pads=said.pads[::-1]), "14-P6", Phase.PROVE
    ),
    "nothing about an edge": in_form(Phase.PROVE, first("edges", IDENTITY), "14-P6"),
    "nothing about its own mask": in_form(Phase.PROVE, fields(self_mask=IDENTITY), "14-P6"),
    "one edge less to prove": in_form(Phase.PROVE, fewer("edges"), "14-P6"),
    "two edges in each other's place": in_rows(
        Phase.PROVE,
        lambda said: replace(said, edges=(said.edges[1], said.edges[0], *said.edges[2:])),
        "14-P6",
    ),
    "another test of carries": in_rows(
        Phase.PROVE, lambda said: replace(said, tests=flipped(said.tests, 14)), "14-P6"
    ),
    "test of carries that is too large": in_form(Phase.PROVE, large_test, "14-P6"),
}

OF_ROWS: Final[tuple[Behaviour, ...]] = tuple(
    behaviour
    for each in LIES.values()
    if each.worlds[0] == "rows" and each.rules
    for behaviour in each.does
)
"""What is said about rows alone."""
