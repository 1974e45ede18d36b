"""Which session is followed, in bounded memory."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from bulletin_board import Submission
from gopa.auditing import sources as choosing
from gopa.auditing.sources import MOST_CANDIDATES, MOST_ENTRIES, SessionChoice
from gopa.contract.framing import Posted
from gopa.contract.phases import Phase
from tests.auditing.logs import Log, clean, key_named, played
from tests.vectors.transcripts.worlds import World
from wire.errors import UsageError


def posted(log: Log, start: int = 0) -> list[Posted]:
    submissions = [Submission.decode(raw) for raw in log.entries]
    return [
        Posted(start + number, each.leaf, each.entry) for number, each in enumerate(submissions)
    ]


def noise(number: int, count: int = 1) -> list[Posted]:
    """Entries of a session that never has a manifest."""
    key = key_named("noise")
    session = sha256(number.to_bytes(4)).digest()

    log = replace(clean(), organiser=key)
    raws = [log.entry(session=session, author=key.public, seq=seq) for seq in range(count)]
    return posted(replace(clean(), entries=tuple(raws)))


def taken(choice: SessionChoice, entries: list[Posted]) -> list[Posted]:
    return [each for entry in entries for each in choice.take(entry)]


def test_the_only_session_is_chosen_with_all_of_its_entries() -> None:
    choice = SessionChoice(None, None)
    assert taken(choice, posted(clean())) == posted(clean())
    assert choice.chosen == clean().manifest.session
    assert not choice.ambiguous


def test_the_anchored_manifest_decides_among_several() -> None:
    other = played(World(seed="another session"))
    digest = sha256(other.manifest.to_bytes()).digest()
    entries = posted(clean()) + posted(other, 100)
    choice = SessionChoice(None, digest)
    assert taken(choice, entries) == posted(other, 100)
    assert choice.found == {
        clean().manifest.session: sha256(clean().manifest.to_bytes()).digest(),
        other.manifest.session: digest,
    }
    blind = SessionChoice(None, None)
    first = SessionChoice(None, None)
    taken(first, posted(clean()))
    first.require_one()
    taken(blind, entries)
    assert blind.ambiguous
    with pytest.raises(UsageError):
        blind.require_one()


@pytest.mark.parametrize("strangers", [7, 8])
def test_a_manifest_that_comes_too_late_makes_no_second_session(strangers: int) -> None:
    """The rules try eight authors; an id whose manifest they never take is nobody's choice."""
    other = played(World(seed="another session"))
    session = clean().manifest.session
    keys = [key_named(f"stranger {number}") for number in range(strangers)]
    log = [
        replace(clean(), organiser=key).entry(session=session, author=key.public, round=0)
        for key in keys
    ]
    before = posted(replace(clean(), entries=tuple(log)))
    choice = SessionChoice(None, None)
    taken(choice, before + posted(clean(), 100) + posted(other, 200))
    assert choice.ambiguous == (strangers < 8)
    assert choice.chosen == (session if strangers < 8 else other.manifest.session)


def test_a_named_session_is_followed_from_its_first_entry() -> None:
    choice = SessionChoice(clean().manifest.session, None)
    other = posted(played(World(seed="another session")))
    assert taken(choice, other + posted(clean(), 100)) == posted(clean(), 100)
    assert list(choice.found) == [clean().manifest.session]


def test_sessions_without_manifests_take_bounded_memory() -> None:
    choice = SessionChoice(None, None)
    for number in range(MOST_CANDIDATES + 5):
        assert taken(choice, noise(number)) == []
    assert len(choice._candidates) == MOST_CANDIDATES
    assert taken(choice, noise(0, MOST_ENTRIES + 5)) == []
    assert max(len(each.entries) for each in choice._candidates.values()) == MOST_ENTRIES
    assert choice.chosen is None


def test_bodies_are_kept_only_where_they_may_be_a_manifest() -> None:
    log, choice = clean(), SessionChoice(None, None)
    for phase, kept in ((Phase.COMMIT, 0), (Phase.ORGANISER, 1_000)):
        raw = log.entry(session=bytes(31) + b"\1", phase=int(phase), round=0, body=bytes(1_000))
        assert taken(choice, posted(replace(log, entries=(raw,)))) == []
        (candidate,) = choice._candidates.values()
        assert len(candidate.entries[-1].entry.body) == kept
        assert choice._held == kept


def test_what_may_be_manifests_has_a_size_that_nothing_exceeds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = sum(len(each.entry.body) for each in posted(clean())[:1])
    monkeypatch.setattr(choosing, "MOST_BYTES", whole)
    choice = SessionChoice(None, None)
    assert taken(choice, posted(clean())) == posted(clean())
    assert choice._held == 0
    monkeypatch.setattr(choosing, "MOST_BYTES", whole - 1)
    choice = SessionChoice(None, None)
    assert taken(choice, posted(clean())) == []
    assert choice.found == {}
