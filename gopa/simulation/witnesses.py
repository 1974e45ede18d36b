"""Witnesses and a beacon of a simulation, where its manifest asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bulletin_board import KeyKind, NoteSigner, TrustPolicy, VerifierKey
from bulletin_board.note import Note, SignatureLine, cosign
from bulletin_board.policy import Group, Peer
from gopa.rules import BeaconValue
from wire.randomness import Rng, draw
from wire.secret import SecretBytes


class BeaconSource(Protocol):
    """Values of a beacon that the caller of a simulation has at hand."""

    def name(self) -> int:
        """The round that the next close of join names."""

    def value(self, number: int) -> BeaconValue:
        """The round with its signature."""


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Simulated witnesses: they cosign every checkpoint of the log, at the time they are set to."""

    signers: tuple[NoteSigner, ...]
    time: int

    @classmethod
    def fresh(cls, count: int, rng: Rng, *, time: int) -> Witnesses:
        """So many witnesses with fresh keys."""
        names = [f"witness-{number}.simulation" for number in range(count)]
        seeds = [SecretBytes(draw(rng, 32)) for _ in names]
        pairs = zip(names, seeds, strict=True)
        return cls(tuple(NoteSigner(name, KeyKind.WITNESS, seed) for name, seed in pairs), time)

    def policy(self, log: VerifierKey) -> TrustPolicy:
        """All of them are the quorum."""
        names = [f"w{number}" for number in range(len(self.signers))]
        peers = {
            name: Peer(signer.verifier) for name, signer in zip(names, self.signers, strict=True)
        }
        everybody = {"all": Group(len(names), tuple(names))}
        return TrustPolicy(Peer(log), peers, everybody, "all")

    def cosigned(self, checkpoint: bytes) -> bytes:
        """The checkpoint with a cosignature of each."""
        note = Note.parse(checkpoint)
        return note.with_signatures(self._lines(note.text)).to_bytes()

    def _lines(self, text: str) -> Sequence[SignatureLine]:
        return [cosign(text, signer, self.time) for signer in self.signers]
