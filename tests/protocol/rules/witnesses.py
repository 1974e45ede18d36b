"""What log and witnesses sign about a log, and a round of a public beacon."""

from __future__ import annotations

from collections.abc import Mapping

from bulletin_board.note import Checkpoint, NoteSigner, cosign, sign_note
from bulletin_board.tree import RightEdge
from gopa.contract.beacon import QUICKNET
from tests.contract.beacon.rounds import ROUNDS
from tests.contract.samples import LOG, WITNESS
from tests.protocol.scribe import World

QUICK = next(each for each in ROUNDS if each.chain == QUICKNET)
DUE = QUICKNET.time_of(QUICK.number)
EARLY = DUE - 2 * QUICKNET.period


def checkpoint(
    world: World,
    size: int | None = None,
    signers: tuple[NoteSigner, ...] = (WITNESS,),
    time: int = 7,
    times: Mapping[NoteSigner, int] | None = None,
) -> bytes:
    """What log and witnesses sign about the first entries; `times` are of single witnesses."""
    edge = RightEdge()
    edge.extend(posted.leaf for posted in world.log[:size])
    text = Checkpoint(LOG.verifier.name, edge.size, edge.root()).to_text()
    note = sign_note(text, LOG)
    said = dict.fromkeys(signers, time) if times is None else times
    return note.with_signatures(cosign(text, each, at) for each, at in said.items()).to_bytes()
