"""Chooses between two ways to prove one statement about hidden bits.

`bits` is the compact argument of specification 06. `schnorr` commits to every bit by
itself and uses nothing but Sigma protocols (specification 07, section 5): slower,
larger, the simplest to believe. Which of them a session takes is a parameter of the
session, never something a verifier reads off a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

from commitments.group import SecretScalarVec
from wire.errors import UsageError
from wire.randomness import Rng
from zkp import bits
from zkp.sigma import bits as schnorr
from zkp.transcript import Transcript

ProofKind: TypeAlias = Literal["bits", "schnorr"]


class BitProver(Protocol):
    """Proves a statement about hidden bits: `bits.prove`, or the same for another kind."""

    def __call__(
        self,
        statement: bits.BitStatement,
        bits: SecretScalarVec,
        openings: bits.Openings,
        transcript: Transcript,
        *,
        rng: Rng,
    ) -> bytes: ...


Verifier: TypeAlias = Callable[[bits.BitStatement, bytes, Transcript], None]

_PROVERS: dict[str, BitProver] = {"bits": bits.prove, "schnorr": schnorr.prove}
_VERIFIERS: dict[str, Verifier] = {"bits": bits.verify, "schnorr": schnorr.verify}


def prover_of(kind: ProofKind) -> BitProver:
    """The function that proves in this way; `UsageError` where there is none."""
    _require_known(kind)
    return _PROVERS[kind]


def verifier_of(kind: ProofKind) -> Verifier:
    """The function that checks proofs of this kind; `UsageError` where there is none."""
    _require_known(kind)
    return _VERIFIERS[kind]


def _require_known(kind: str) -> None:
    if kind not in _PROVERS:
        raise UsageError("a proof is made as 'bits' or as 'schnorr'")
