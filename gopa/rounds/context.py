"""One round of one session, to which its proofs are bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from commitments import Commitment, Opening, Pedersen, RevealedOpening, VectorPedersen
from commitments.group import Group, SecretScalar, SecretScalarVec
from gopa.contract.manifest import Manifest, Mode, Path
from gopa.rounds.masks import (
    EdgeContext,
    EdgeMasks,
    MaskLaw,
    RoundedGaussian,
    SelfContext,
    SharedPoint,
    UniformMask,
    edge_masks,
    share_key,
)
from wire.domains import Domain
from wire.errors import UsageError
from wire.secret import SecretBytes
from zkp import Interval
from zkp.noise import NoiseSetting, key_of
from zkp.transcript import Transcript


@dataclass(frozen=True, slots=True)
class RoundContext:
    """A round by its number. `session` is the id that the manifest hashes to."""

    manifest: Manifest
    session: bytes
    round: int
    group: Group

    def __post_init__(self) -> None:
        if not 1 <= self.round <= 65_535:  # the width of an entry's field
            raise UsageError("rounds are numbered from 1 to 65535", "round")
        if type(self.session) is not bytes or len(self.session) != 32:
            raise UsageError("the id of a session has 32 bytes", "session")

    @property
    def proved(self) -> bool:
        """Whether parties prove what they put in: inputs, with their noise if there is any."""
        return self.manifest.mode is Mode.FULL

    @property
    def committed_masks(self) -> bool:
        """Whether masks and values are scalars under commitments; else words, behind hashes."""
        return self.manifest.mode is Mode.FULL and not self.in_rows

    @property
    def in_rows(self) -> bool:
        """Whether what is proved of vectors is proved row by row (`specs/14-long-vectors.md`)."""
        return self.manifest.path is Path.ROWS

    @property
    def dimension(self) -> int:
        """How many coordinates are summed."""
        return self.manifest.terms.dimension

    @property
    def key(self) -> Pedersen | VectorPedersen:
        """The one commitment key of inputs, masks and outputs."""
        return _key(self.manifest, self.group)

    @property
    def noise_setting(self) -> NoiseSetting:
        """What proofs of inputs and noise take as fixed before the coins."""
        return NoiseSetting(self.group, self.dimension, Interval(0, self.manifest.terms.steps))

    @property
    def mask_law(self) -> MaskLaw:
        """The law of the masks of edges."""
        terms = self.manifest.terms
        return UniformMask() if terms.mask == "uniform" else RoundedGaussian(terms.mask_deviation)

    def edge_context(self, one: bytes, other: bytes) -> EdgeContext:
        """The name of the edge between two parties, by their ids."""
        return EdgeContext.between(self.session, self.round, one, other)

    def self_context(self, party: bytes) -> SelfContext:
        """The name of the self-mask of a party, by its id."""
        return SelfContext(self.session, self.round, party)

    def edge_masks(self, keys: Sequence[SecretBytes]) -> EdgeMasks:
        """The masks that these keys of edges stand for, in full mode."""
        return edge_masks(self.group, keys, self.mask_law, self.dimension)

    def share_key(self, shared: SharedPoint, dealer: bytes, recipient: bytes) -> SecretBytes:
        """The key that hides the dealer's share for the recipient, by their ids."""
        return share_key(shared, self.edge_context(dealer, recipient), dealer, recipient)

    def transcript(self, purpose: Domain, acts_on: bytes, party: bytes) -> Transcript:
        """A transcript bound to session, round, close acted on, and one party (04-J3, 04-K3)."""
        transcript = Transcript(purpose)
        transcript.absorb(b"session", self.session)
        transcript.absorb_int(b"round", self.round)
        transcript.absorb(b"acts-on", acts_on)
        transcript.absorb(b"party", party)
        return transcript


@lru_cache(maxsize=64)
def _key(manifest: Manifest, group: Group) -> Pedersen | VectorPedersen:
    return key_of(manifest.terms.noise, group, manifest.terms.dimension)


def commit(
    key: Pedersen | VectorPedersen, values: SecretScalarVec, blinding: SecretScalar
) -> Commitment:
    """One commitment of all values under either kind of key, in constant time."""
    if isinstance(key, VectorPedersen):
        return key.commit(values, blinding)
    return key.commit(values, opening_of(key, values, blinding).blindings)


def opening_of(
    key: Pedersen | VectorPedersen, values: SecretScalarVec, blinding: SecretScalar
) -> Opening:
    """The opening of `commit` with the same arguments."""
    return Opening(key, values, key.group.scalars([1]) * blinding)


def revealed(opening: RevealedOpening) -> Commitment:
    """The commitment of an opening that is public already."""
    key = opening.key
    if isinstance(key, VectorPedersen):
        return key.vartime_commit(opening.values, opening.blindings.secret()[0])
    if isinstance(key, Pedersen):
        return key.commit(opening.values, opening.blindings.secret())
    raise UsageError("openings of a session are under its own key")
