"""No noise: the law of a session whose exact sum is released (specification 07, sections 1, 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from commitments import Opening, VectorPedersen
from commitments.group import SecretScalarVec
from wire.codec import record
from wire.randomness import Rng
from zkp import bits
from zkp.noise.law import (
    CoinSource,
    NoiseKind,
    NoiseLaw,
    NoiseSeed,
    NoiseSetting,
    PostedNoise,
    one_commitment,
    wrong_seed,
)
from zkp.range import RangeStatement, VectorRangeStatement, prove_range, prove_vector_range
from zkp.transcript import Transcript


@dataclass(frozen=True, slots=True)
class NoNoise(NoiseLaw):
    """The law of 0 alone: what is proved are the ranges of the inputs.

    It is none of the laws that hide anything, and no theorem about noise holds for it.
    """

    kind: ClassVar[NoiseKind] = NoiseKind.NONE

    @property
    def masses(self) -> tuple[int, ...]:
        """All of it at 0."""
        return (1,)

    @property
    def parameters(self) -> bytes:
        """The empty encoding."""
        return NO_NOISE.encode(self)

    @property
    def words(self) -> str:
        """The law in one word for people."""
        return "none"

    @property
    def pieces(self) -> tuple[tuple[int, ...], ...]:
        """Nothing to draw."""
        return ()

    @property
    def hidden_bits(self) -> int:
        """None: a proof hides those of the input."""
        return 0

    def one_number(self, dimension: int) -> bool:
        """One number has Pedersen's key, several a vector commitment."""
        return dimension == 1

    def proof_size(self, setting: NoiseSetting) -> int:
        """The length of every proof of ranges."""
        vectors = () if self.one_number(setting.dimension) else (setting.dimension,)
        hidden = setting.dimension * len(setting.interval.weights)
        return bits.proof_size(setting.group, bits.layout_of(hidden, vectors))

    def seed(
        self, setting: NoiseSetting, inputs: SecretScalarVec, hedge: Transcript, *, rng: Rng
    ) -> None:
        """Nothing is drawn."""

    def coins(self, setting: NoiseSetting, source: CoinSource) -> bytes:
        """Nothing is drawn."""
        return b""

    def statement(self, posted: PostedNoise) -> RangeStatement | VectorRangeStatement:
        """What a proof is about, the inputs alone; raises as `NoiseLaw.statement`."""
        setting = posted.setting
        inputs = one_commitment(self, setting, posted.inputs)
        if isinstance(inputs.key, VectorPedersen):
            return VectorRangeStatement(inputs, setting.interval)
        return RangeStatement(inputs, (setting.interval,))

    def prove(  # noqa: PLR0913 - as NoiseLaw.prove
        self,
        posted: PostedNoise,
        seed: NoiseSeed | None,
        inputs: Opening,
        output: Opening,
        transcript: Transcript,
        *,
        rng: Rng,
    ) -> bytes:
        """The proof; `UsageError` if there is a seed."""
        if seed is not None:
            raise wrong_seed()
        statement = self.statement(posted)
        if isinstance(statement, VectorRangeStatement):
            return prove_vector_range(statement, inputs, transcript, rng=rng)
        return prove_range(statement, inputs, transcript, rng=rng)


NO_NOISE: Final = record(NoNoise)
"""The encoding of the parameters, of which there are none."""
