"""What is kept of a witness's refusal: who, what it was asked, all that it answered."""

from __future__ import annotations

import json

from bulletin_board.durable import EvidenceFolder
from bulletin_board.policy import Peer
from bulletin_board.witness.ask import WitnessRefusal

KIND = "witness-refusal"


def keep_refusal(folder: EvidenceFolder, witness: Peer, refusal: WitnessRefusal, time: int) -> str:
    """Store the refusal durably; where it is, or why it was not stored.

    Never raises for a full or failing disk: what follows from the refusal must not
    depend on it. The bytes of the answer are shown as the characters U+0000 to U+00FF.
    """
    document = {
        "witness": str(witness.key),
        "url": witness.url,
        "time": time,
        "status": refusal.status,
        "answer": refusal.answer.decode("latin-1"),
        "request": refusal.request.decode(),
    }
    data = json.dumps(document, indent=1).encode() + b"\n"
    try:
        path = folder.keep(f"{KIND}-{witness.key.key_id.hex()}", data)
    except OSError as error:
        return f"the evidence could not be stored: {error.strerror}"
    return f"evidence in {path}" if path else "enough evidence of this witness is stored already"
