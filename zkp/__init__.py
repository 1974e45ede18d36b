"""Zero-knowledge proofs: transcripts, Sigma protocols and everything built on them."""

from zkp import sigma
from zkp.transcript import Transcript

__all__ = ["Transcript", "sigma"]
