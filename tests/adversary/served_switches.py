"""Ways to switch off one defence of a party in a session over HTTP, beside those of `switches`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bulletin_board.admission import RefusalReason, Refused
from bulletin_board.client import board as client_module
from bulletin_board.client.board import BoardClient
from bulletin_board.client.state import DirectoryState
from bulletin_board.note import open_checkpoint
from bulletin_board.policy import TrustPolicy
from bulletin_board.receipt import Receipt, VerifiedReceipt
from bulletin_board.server.accepting import OpenConnections
from bulletin_board.tree import leaf_hash
from bulletin_board.witness import collecting as collect_module
from bulletin_board.witness import opening as opening_module
from bulletin_board.witness.opening import OpeningCheck
from gopa.adversary.attack import KNOWN
from gopa.adversary.served import ServedAttack
from gopa.protocol.admission.policy import ProtocolAdmission
from gopa.sessions.parties import runner as seat_module
from gopa.sessions.parties.runner import PartyRunner
from tests.auditing.disabling import replaced, together
from tests.auditing.negatives import ANY_TERMS
from wire.errors import MalformedMessage

if TYPE_CHECKING:
    import pytest

    from bulletin_board import Entry
    from bulletin_board.note import SignedCheckpoint, VerifierKey


def _only_remembered(client: BoardClient, claims: list[SignedCheckpoint]) -> None:
    newest = max(claims, key=lambda signed: signed.size)
    with client._mutex:
        if client._seen is None or newest.size > client._seen.size:
            client._remember(newest)


def _as_if_its_own(receipt: Receipt, entry: bytes, log: VerifierKey) -> VerifiedReceipt:
    signed = open_checkpoint(receipt.checkpoint, log)
    return VerifiedReceipt(receipt.index, leaf_hash(entry), signed)


def _any_problem(data: bytes, retry_after: int | None = None) -> Refused:
    try:
        document: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise MalformedMessage("a JSON document", "problem") from None
    reasons = {f"urn:gopa:board:{reason.code}": reason for reason in RefusalReason}
    return Refused(reasons[document["type"]], document["detail"], retry_after, None, None)


_admit_manifest = ProtocolAdmission._admit_manifest


def _if_there_is_a_place(policy: ProtocolAdmission, entry: Entry) -> None:
    known, limits = policy._pending.known, policy._limits
    if entry.session not in known and len(known) >= limits.most_pending:
        raise Refused(RefusalReason.FULL)
    if len(policy._open.waiting) + len(policy._open.going_on) >= limits.most_sessions:
        raise Refused(RefusalReason.FULL)
    _admit_manifest(policy, entry)


async def _endless_patience(_: PartyRunner) -> None:
    """Nobody looks at the clock."""


NO_COMPARISON = replaced(BoardClient, "_judge", _only_remembered)
"""A client takes every checkpoint that the log has signed, whatever it saw before."""

FORGETFUL = replaced(DirectoryState, "load", lambda _: None)
"""What was seen before a restart is forgotten."""

ANY_RECEIPT = replaced(client_module, "verify_receipt", _as_if_its_own)
"""A receipt of the log counts for whatever was posted."""

ANY_PROBLEM = replaced(client_module, "parse_problem", _any_problem)
"""The fields of a refusal are taken for what they should be."""

LOOKUPS_BELIEVED = together(
    replaced(seat_module, "lacking", lambda *_: False),
    replaced(seat_module, "blames", lambda _: False),
)
"""What a lookup does not show is not there."""

NO_QUORUM = replaced(TrustPolicy, "is_quorum", lambda *_: True)
"""A checkpoint counts, however few witnesses have cosigned it."""


def _spent_at_once(patch: pytest.MonkeyPatch) -> None:
    """The session of the attack has terms by which twice the loss is all neighbours."""
    attack = KNOWN["three-branches"]
    assert isinstance(attack, ServedAttack)
    terms = attack.setup.terms
    most = (terms.parties + 1) // 2
    weak = replace(terms, loss=most, survivors=terms.parties - most)
    patch.setitem(KNOWN, attack.name, replace(attack, setup=replace(attack.setup, terms=weak)))


GRANTED_ONCE = together(_spent_at_once, ANY_TERMS)
"""A plan with recovery grants each party its loss once, and nobody asks what that is worth."""

NOBODY_IS_AHEAD = together(
    replaced(opening_module, "require_possible", lambda *_: None),
    replaced(OpeningCheck, "_is_quorum", lambda *_, **__: True),
    replaced(collect_module, "require_possible", lambda *_: None),
)
"""A board goes on from what it has, whatever its witnesses hold."""

ENDLESS_PATIENCE = replaced(PartyRunner, "_give_up_in_time", _endless_patience)
"""A party waits for its organiser for ever."""

FIRST_COME = replaced(ProtocolAdmission, "_admit_manifest", _if_there_is_a_place)
"""Manifests that are on their way, and sessions without a round, keep their places for ever."""

SEATS_FOR_EVER = replaced(OpenConnections, "_make_room", lambda _: False)
"""Connections that wait for a request keep their seats, however many others come."""
