"""The transcripts of `specs/vectors/transcripts`: made anew, judged on every backend, compared."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

import pytest

from bulletin_board import Submission, VerifierKey
from commitments.group import Group
from gopa.contract.framing import party_id
from gopa.contract.phases import Kind, Phase
from gopa.protocol.rules import RULES, Findings
from gopa.protocol.rules.table import DEFINITIONS, UNSEEN
from gopa.rounds.toolkit import Toolkit
from tests.group.backends import installed_groups, proving_groups
from tests.pace import drawn_third
from tests.vectors.registry import FOLDER, SOURCES, TRANSCRIPTS, render
from tests.vectors.transcripts.cases import ORGANISER, Ended
from tests.vectors.transcripts.catalogue import CASES
from tests.vectors.transcripts.made import Made, judged, make, read
from tests.vectors.transcripts.record import Json, expected, verdict

NAMES: Final = sorted(CASES)
CHEATS: Final = sorted(name for name, case in CASES.items() if case.liars)
ACCEPTED: Final = {"VALID", "SIGNED-ONLY"}
MOST_BYTES: Final = 5_650_000
"""Recovery and exact sums are shown for numbers, vectors and words: that takes some room."""

DRAWN: Final = drawn_third(("made anew", name) for name in NAMES)
"""All of these are made anew by default; the log that the file has is always judged."""


def drawn(names: Iterable[str]) -> pytest.MarkDecorator:
    """With this scope all tests of one name follow each other and find what one of them made."""
    cases = [pytest.param(name, marks=() if name in DRAWN else pytest.mark.soak) for name in names]
    return pytest.mark.parametrize("name", cases, scope="module")


NOT_SHOWN: Final = frozenset(
    {
        *("04-F1", "04-J7", "04-K6", "04-O1", "04-O4"),
        *("04-O5", "04-S1", "04-S2", "04-U2", "04-X4"),
        "14-P10",  # whoever breaks it is blamed for 14-K6
    }
)
"""Rules of which no transcript has a break: those of other tests. None is added to them."""


@cache
def stated(name: str) -> Json:
    """What the file says."""
    found: Json = json.loads((TRANSCRIPTS / f"{name}.json").read_text())
    return found


@cache
def entries_of(name: str) -> list[bytes]:
    """The log, from its archive and the key that the file gives."""
    anchors = stated(name)["anchors"]
    data = (TRANSCRIPTS / f"{name}.gopa").read_bytes()
    signed, entries = read(data, VerifierKey.parse(anchors["log"]))
    assert signed.root.hex() == anchors["root"]
    assert signed.to_bytes().decode() == anchors["checkpoint"]
    assert len(entries) == signed.size == stated(name)["archive"]["entries"]
    return entries


def test_every_file_has_a_case() -> None:
    files = {f"{name}{ending}" for name in NAMES for ending in (".gopa", ".json")}
    assert {path.name for path in TRANSCRIPTS.iterdir()} == files | {"README.md"}


def test_all_transcripts_together_are_small() -> None:
    assert sum(path.stat().st_size for path in TRANSCRIPTS.iterdir()) < MOST_BYTES


@drawn(NAMES)
def test_regeneration_changes_no_byte(name: str) -> None:
    for file, content in make(name).files().items():
        assert (TRANSCRIPTS / file).read_bytes() == content, file


@pytest.mark.parametrize("name", NAMES)
def test_rules_find_exactly_what_is_stated(name: str) -> None:
    require_stated(name, proving_groups()[0])


@pytest.mark.thirds(9)
@pytest.mark.parametrize("group", installed_groups()[:-1], ids=lambda group: group.backend)
@pytest.mark.parametrize("name", NAMES)
def test_rules_find_the_same_on_every_backend(name: str, group: Group) -> None:
    require_stated(name, group)


def require_stated(name: str, group: Group) -> None:
    file = stated(name)
    found = judged(entries_of(name), Toolkit(group=group), file["anchors"])
    assert expected(found) == file["expected"]
    assert {fault.rule for fault in found.faults} <= set(RULES)


def test_another_anchor_is_noticed() -> None:
    """So the anchors matter: the same log is not the session that somebody else agreed to."""
    file, other = stated("clean_full"), stated("clean_recovery")["anchors"]
    entries, toolkit = entries_of("clean_full"), Toolkit()
    assert judged(entries, toolkit, file["anchors"]).complete
    wrong = {**file["anchors"], "manifest_sha256": other["manifest_sha256"]}
    assert verdict(judged(entries, toolkit, wrong)) == "INVALID"
    wrong = {**file["anchors"], "session": other["session"]}
    assert verdict(judged(entries, toolkit, wrong)) == "INVALID"


@drawn(NAMES)
def test_findings_are_those_that_the_case_was_made_for(name: str) -> None:
    """Lists, sums and culprits against what is written by hand, and against the open inputs."""
    case, made = CASES[name], make(name)
    assert tuple(ends(made.findings, made)) == case.ends
    assert blamed(made) == case.blamed
    assert verdict(made.findings) == case.verdict == stated(name)["expected"]["verdict"]
    compared = (
        [
            each.sums == plain
            for each, plain in zip(made.findings.rounds, made.plain, strict=True)
            if each.sums is not None
        ]
        if made.plain
        else []
    )
    assert all(compared) == case.exact
    for each in made.findings.rounds:
        inside = set(each.final or ())
        assert not [pair for pair in each.opened if inside.issuperset(pair)]
        assert inside.issuperset(each.unmasked)


def ends(found: Findings, made: Made) -> Iterable[Ended]:
    """How the rounds ended, with parties by their numbers."""
    numbers = {key: number for number, key in enumerate(made.keys)}
    for each in found.rounds:
        included = None
        if each.sums is not None:
            included = tuple(numbers[each.roll[place]] for place in each.final or ())
        yield Ended(included, each.abort, each.released)


def blamed(made: Made) -> frozenset[tuple[int, str]]:
    """Who is blamed for what."""
    numbers = {key: number for number, key in enumerate(made.keys)}
    numbers[made.manifest.organiser] = ORGANISER
    return frozenset((numbers[fault.author], fault.rule) for fault in made.findings.faults)


@pytest.mark.parametrize("name", CHEATS)
def test_only_liars_are_blamed_and_their_honest_twin_is_accepted(name: str) -> None:
    case = CASES[name]
    twin = CASES[case.twin]
    assert twin.liars == ()
    assert twin.blamed == frozenset()
    assert twin.verdict in ACCEPTED
    assert stated(case.twin)["expected"]["faults"] == []
    assert stated(case.twin)["expected"]["verdict"] in ACCEPTED
    assert {party for party, _ in case.blamed} <= set(case.liars)
    assert (twin.world, twin.rounds) == (case.world, case.rounds)


@drawn(CHEATS)
def test_the_twin_is_the_same_up_to_the_first_lie(name: str) -> None:
    """The entry in which they differ is a liar's, or stands where a liar says nothing."""
    made = make(name)
    liars = {
        made.keys[party] if party >= 0 else made.manifest.organiser for party in CASES[name].liars
    }
    pair = entries_of(name), entries_of(CASES[name].twin)
    shared = next(
        (at for at, (one, other) in enumerate(zip(*pair, strict=False)) if one != other),
        min(map(len, pair)),
    )
    authors = {
        Submission.decode(log[shared]).entry.author.data for log in pair if shared < len(log)
    }
    strangers = authors - set(made.keys) - {made.manifest.organiser}
    assert authors & (liars | strangers)


def test_the_transcripts_cover_what_they_are_for() -> None:
    """Every phase has somebody who leaves it and a liar; every reason of an abort occurs."""
    expectations = [stated(name)["expected"] for name in NAMES]
    rounds = [each for found in expectations for each in found["rounds"]]
    reasons = {each["abort"] for each in rounds} - {None}
    assert reasons == {
        "too_few_joined",
        "too_many_withheld",
        "too_few_left",
        "too_many_rollbacks",
        "not_confirmed",
        "not_unmasked",
        "organiser",
    }
    causes = {(row["phase"], row["cause"]) for each in rounds for row in each["removed"]}
    for phase in ("join", "coins", "commit", "publish", "rollback"):
        assert {(phase, "invalid"), (phase, "struck")} <= causes
        assert (phase, "absent") in causes or phase == "join"
    assert ("publish", "convicted") in causes
    assert {found["verdict"] for found in expectations} == {*ACCEPTED, "INVALID", "INCOMPLETE"}
    assert any(each["recovered"] for each in rounds)
    assert any(each["void"] for each in rounds)
    assert any(not fault["proved"] for found in expectations for fault in found["faults"])


def test_every_phase_and_kind_of_message_occurs() -> None:
    seen = {
        (entry.phase, entry.kind)
        for name in NAMES
        for entry in (Submission.decode(raw).entry for raw in entries_of(name))
    }
    assert {phase for phase, _ in seen} == set(map(int, Phase))
    assert {kind for _, kind in seen} == set(map(int, Kind))


def test_ids_of_parties_follow_from_their_keys() -> None:
    """As in section 1 of the specification, so that another reader finds the same ones."""
    keys = [bytes.fromhex(key) for key in stated("clean_full")["parties"]]
    assert keys == sorted(keys)
    assert len({party_id(key) for key in keys}) == len(keys)


def cited(found: Any) -> set[str]:
    """Rules that stand anywhere in what is expected of a transcript."""
    if isinstance(found, dict):
        return set().union(*map(cited, found.values()))
    if isinstance(found, list):
        return set().union(*map(cited, found))
    return {found} & set(RULES) if isinstance(found, str) else set()


def test_every_rule_that_can_be_broken_has_a_transcript() -> None:
    shown = set().union(*(cited(stated(name)["expected"]) for name in NAMES))
    assert set(RULES) - UNSEEN - DEFINITIONS - shown == NOT_SHOWN


def test_every_published_file_has_a_source() -> None:
    assert {path.name for path in FOLDER.glob("*.json")} == set(SOURCES)


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_regeneration_changes_nothing(name: str) -> None:
    assert render(SOURCES[name]()) == (FOLDER / name).read_text()
