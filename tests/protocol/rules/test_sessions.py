"""The manifest, and what stands in front of it (04-S1 to 04-S3)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from bulletin_board import Entry, RefusalReason, Refused
from bulletin_board.entry import Submission
from bulletin_board.tree import leaf_hash
from gopa.contract.framing import NO_LEAF, MessageSlot, Posted, sign_message
from gopa.contract.manifest import CommitReveal, session_id
from gopa.contract.organiser import OPEN, Open
from gopa.contract.phases import Kind, Phase
from gopa.protocol.admission.policy import ProtocolAdmission
from gopa.protocol.rules import Ledger
from gopa.protocol.rules.ledger import is_undecided, require_worth
from gopa.protocol.rules.mailbox import BreaksRule
from gopa.rounds.toolkit import Toolkit
from tests.contract.samples import manifest, signing_key
from tests.planning import terms_vectors
from tests.protocol.rules.worlds import VECTOR, baseline, make, require, small_terms
from tests.protocol.scribe import World
from tests.randomness import seeded
from tests.rounds.doubles import ProofDoubles
from wire.errors import UsageError


def fresh() -> Ledger:
    return Ledger(Toolkit(proofs=ProofDoubles()), rng=seeded("sessions"))


def posted(raw: bytes, index: int) -> Posted:
    return Posted(index, leaf_hash(raw), Submission.decode(raw).entry)


def first_entries(body: bytes, session: bytes, name: str = "organiser") -> list[bytes]:
    place = MessageSlot(session, Phase.ORGANISER, Kind.MANIFEST, 0, 0, NO_LEAF)
    return list(sign_message(body, place, signing_key(name)).entries)


def test_terms_that_claim_too_much() -> None:
    baseline()
    claimed = small_terms(delta=Decimal("0.0000001"))
    agreed = manifest(claimed, beacon=CommitReveal())
    world = World(agreed, Toolkit(proofs=ProofDoubles()), signing_key("organiser"), [])
    found = world.check()
    assert [(fault.rule, fault.author) for fault in found.faults] == [
        ("04-S3", world.organiser.public.data)
    ]
    assert world.ledger.state.failed
    with pytest.raises(UsageError):
        world.ledger.next_control(1)
    # What anybody says in such a session is read and changes nothing.
    body = OPEN.encode(Open(world.log[0].leaf, 0, 0))
    world.post(world.organiser, Phase.ORGANISER, body, Kind.OPEN, 1)
    party = signing_key("party 1")
    for salt in (b"one", b"other"):
        world.post(party, Phase.JOIN, salt, number=1, seq=0)
    assert world.ledger.findings().faults == world.check().faults == found.faults


@pytest.mark.parametrize("cut", [1, 40])
def test_a_manifest_that_is_not_well_formed(cut: int) -> None:
    baseline()
    body = manifest(small_terms(), beacon=CommitReveal()).to_bytes()
    for data in (body[:-cut], body + bytes(cut)):
        ledger = fresh()
        for raw in first_entries(data, session_id(data)):
            ledger.observe(posted(raw, 0))
        assert [fault.rule for fault in ledger.findings().faults] == ["04-S2"]
        assert ledger.state.failed


def test_vectors_that_no_proof_could_cover() -> None:
    baseline("vector")
    terms = small_terms(**VECTOR | {"dimension": 2**20, "steps": 1, "squared_sensitivity": 12})
    agreed = manifest(terms, beacon=CommitReveal())
    ledger, policy = fresh(), ProtocolAdmission()
    for raw in first_entries(agreed.to_bytes(), agreed.session):
        entry = posted(raw, 0)
        ledger.observe(entry)
        with pytest.raises(Refused) as caught:
            policy.admit(entry.entry)
        policy.observe(0, entry.entry)
    assert caught.value.reason is RefusalReason.MALFORMED
    assert policy.sessions == {}
    assert [fault.rule for fault in ledger.findings().faults] == ["04-S2"]
    assert ledger.state.failed


def test_a_manifest_in_somebody_elses_name() -> None:
    baseline()
    agreed = manifest(small_terms(), beacon=CommitReveal())
    ledger = fresh()
    for raw in first_entries(agreed.to_bytes(), agreed.session, "somebody"):
        ledger.observe(posted(raw, 0))
    assert [fault.rule for fault in ledger.findings().faults] == ["04-S2"]


def test_what_stands_in_front_of_the_manifest_changes_nothing() -> None:
    """Whoever learns the id early cannot spoil the session: the manifest is known by its hash."""
    honest = make()
    honest.run()
    agreed = honest.manifest
    front = first_entries(b"not the manifest", agreed.session, "somebody")
    stranger = MessageSlot(agreed.session, Phase.JOIN, Kind.JOIN, 1, 0, NO_LEAF)
    front += sign_message(bytes(300), stranger, signing_key("stranger")).entries
    ledger = fresh()
    for index, raw in enumerate([*front, honest.raws[0]]):
        ledger.observe(posted(raw, index))
    assert ledger.manifest == agreed
    assert ledger.next_control(3) is not None
    assert [note.rule for note in ledger.findings().notes] == ["04-S1", "04-S1"]


def test_a_manifest_of_another_session_is_none_of_this_one() -> None:
    agreed = manifest(small_terms(), beacon=CommitReveal())
    other = replace(agreed, salt=bytes(32))
    ledger = fresh()
    for raw in first_entries(other.to_bytes(), agreed.session):
        ledger.observe(posted(raw, 0))
    assert ledger.manifest is None
    assert [note.rule for note in ledger.findings().notes] == ["04-S1"]


def test_a_second_manifest_is_out_of_place() -> None:
    baseline()
    world = make()
    body = world.manifest.to_bytes()
    world.post(world.organiser, Phase.ORGANISER, body, Kind.MANIFEST, 0)
    assert [fault.rule for fault in world.check().faults] == ["04-C1"]


def test_entries_come_in_order_and_of_one_session() -> None:
    world = make()
    ledger = fresh()
    ledger.observe(world.log[0])
    with pytest.raises(UsageError):
        ledger.observe(world.log[0])
    entry: Entry = replace(world.log[0].entry, session=bytes(32))
    with pytest.raises(UsageError):
        ledger.observe(Posted(5, bytes(32), entry))


def test_huge_claims_of_chunks_before_the_manifest_are_not_kept() -> None:
    agreed = manifest(small_terms(), beacon=CommitReveal())
    ledger = fresh()
    for index in range(20):
        place = MessageSlot(agreed.session, Phase.ORGANISER, Kind.MANIFEST, 0, 0, NO_LEAF)
        signed = sign_message(bytes(60_001), place, signing_key(f"somebody {index}"))
        ledger.observe(posted(signed.entries[0], index))
    assert len(ledger._assembler._partial) <= 8


def test_real_sessions_run_with_the_default_toolkit() -> None:
    world = make(real=True)
    world.run()
    require(world, included=range(5))


def test_terms_too_close_to_call_are_let_pass_and_known() -> None:
    """Nobody is blamed where rounding could decide; that the check is missing is for audits."""
    kept = manifest(terms_vectors.COMPLETE, beacon=CommitReveal(), simulation=False)
    require_worth(kept)
    assert not is_undecided(kept)
    close = terms_vectors.cases()["claims exactly what it has"]
    undecided = replace(kept, terms=close)
    require_worth(undecided)
    assert is_undecided(undecided)
    broken = replace(kept, terms=terms_vectors.cases()["claims a hundredth less"])
    with pytest.raises(BreaksRule) as refused:
        require_worth(broken)
    assert refused.value.rule == "04-S3"
