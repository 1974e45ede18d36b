"""What holds for every law of noise that terms may name: a new one comes with a sample here."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from commitments import Opening, Pedersen, VectorPedersen
from commitments.group import Group, SecretScalarVec
from tests.randomness import seeded
from tests.zkp.noise_samples import transcript
from tests.zkp.noise_table_vectors import laws
from wire.errors import InvalidProof, UsageError
from zkp import Interval, ProofClaim, verify_batch
from zkp.noise import (
    LAWS,
    GaussianTable,
    NoiseKind,
    NoiseLaw,
    NoiseSeed,
    NoiseSetting,
    NoNoise,
    PostedNoise,
    WeightedBits,
    WeightRun,
    binomial,
    decode_noise_law,
    irwin_hall,
    key_of,
)

SAMPLES: dict[str, tuple[NoiseLaw, int]] = {
    "table": (GaussianTable.with_scale(1, bits=16, rows=7), 1),
    "bits": (irwin_hall(2, 2), 3),
    "no noise": (NoNoise(), 1),
    "no noise, vectors": (NoNoise(), 3),
}
TABLES: dict[str, NoiseLaw] = {
    **laws(),
    **{name: law for name, (law, _) in SAMPLES.items()},
    "many bits": binomial(300),
    "odd weights": WeightedBits((WeightRun(1, 130), WeightRun(2, 3), WeightRun(3, 130))),
}
every_law = pytest.mark.parametrize("law", TABLES.values(), ids=TABLES.keys())
every_sample = pytest.mark.parametrize("name", SAMPLES)
VALUES = [7, 0, 20]


class Flipped:
    """Coins of a party from a seed."""

    def __init__(self, seed: str) -> None:
        self._rng = seeded(seed)

    def number(self, width: int) -> int:
        return int.from_bytes(self._rng(8)) % (1 << width)

    def flips(self, count: int) -> bytes:
        return bytes(byte & 1 for byte in self._rng(count))


@dataclass(frozen=True)
class Prover:
    """An honest party of a law, or with an `error` in its output a dishonest one."""

    law: NoiseLaw
    posted: PostedNoise
    seed: NoiseSeed | None
    inputs: Opening
    output: Opening

    @classmethod
    def of(cls, group: Group, name: str, values: list[int] | None = None) -> Prover:
        law, dimension = SAMPLES[name]
        setting = NoiseSetting(group, dimension, Interval(0, 20))
        numbers = group.secret_scalars((values or VALUES)[:dimension])
        seed = law.seed(setting, numbers, transcript(), rng=seeded("seed"))
        coins = law.coins(setting, Flipped("coins"))
        inputs = opened(law, setting, numbers, "inputs")
        output = inputs
        if seed is not None:
            output = opened(law, setting, numbers + seed.noise(coins), "output")
        posted = PostedNoise(
            setting,
            coins,
            data(inputs),
            b"" if seed is None else seed.posted,
            b"" if seed is None else data(output),
        )
        return cls(law, posted, seed, inputs, output)

    def proof(self) -> bytes:
        return self.law.prove(
            self.posted, self.seed, self.inputs, self.output, transcript(), rng=seeded("proof")
        )

    def claim(self, proof: bytes) -> ProofClaim:
        return ProofClaim(self.law.statement(self.posted), proof, transcript())


def opened(law: NoiseLaw, setting: NoiseSetting, values: SecretScalarVec, seed: str) -> Opening:
    key = key_of(law, setting.group, setting.dimension)
    blinding = setting.group.random_scalars(1, seeded(seed))[0]
    return Opening(key, values, setting.group.scalars([1]) * blinding)


def data(opening: Opening) -> bytes:
    """The commitment of an opening."""
    key = opening.key
    if isinstance(key, Pedersen):
        return key.commit(opening.values, opening.blindings).to_bytes()
    assert isinstance(key, VectorPedersen)
    return key.commit(opening.values, opening.blindings[0]).to_bytes()


def refused(claims: list[ProofClaim]) -> tuple[int, ...]:
    try:
        verify_batch(claims, rng=seeded("weights"))
    except InvalidProof as error:
        return error.culprits
    return ()


def test_every_kind_is_one_law_with_a_sample() -> None:
    assert {law.kind for law in LAWS} == set(NoiseKind)
    assert len(LAWS) == len(NoiseKind)
    assert {type(law) for law, _ in SAMPLES.values()} == set(LAWS)


@every_law
def test_a_law_survives_its_encoding(law: NoiseLaw) -> None:
    encoded = law.to_bytes()
    assert decode_noise_law(encoded) == law
    assert encoded == bytes([law.kind.value]) + law.parameters
    others = [other for other in TABLES.values() if other != law]
    assert law.table_hash() not in {other.table_hash() for other in others}
    assert law.words not in {other.words for other in others if other.variance != law.variance}


@every_law
def test_the_cumulative_table_turns_draws_into_noise(law: NoiseLaw) -> None:
    cumulative = law.cumulative
    assert cumulative[0] == 0
    assert cumulative[-1] == law.total
    for row, mass in enumerate(law.masses):
        assert cumulative[row + 1] - cumulative[row] == mass > 0
        assert law.noise_at(cumulative[row]) == row - law.radius
        assert law.noise_at(cumulative[row + 1] - 1) == row - law.radius
    for wrong in (-1, law.total, True, 0.0):
        with pytest.raises(UsageError):
            law.noise_at(wrong)  # type: ignore[arg-type]


@every_law
def test_pieces_add_up_to_the_law(law: NoiseLaw) -> None:
    whole = np.array([1], dtype=object)
    for piece in law.pieces:
        assert sum(piece) <= 2**128
        assert len(piece) % 2 == 1
        whole = np.convolve(whole, np.array(piece, dtype=object))
    assert tuple(whole.tolist()) == law.masses
    assert bool(law.pieces) == bool(law.radius) == bool(law.hidden_bits)


@every_sample
def test_an_honest_proof_holds_and_has_its_length(name: str, group: Group) -> None:
    made = Prover.of(group, name)
    proof = made.proof()
    assert len(proof) == made.law.proof_size(made.posted.setting)
    made.law.require_provable(made.posted.setting)
    assert refused([made.claim(proof)]) == ()


@every_sample
def test_a_proof_is_of_what_was_posted(name: str, group: Group) -> None:
    made = Prover.of(group, name)
    proof = made.proof()
    assert refused([made.claim(proof)]) == ()
    other = opened(made.law, made.posted.setting, made.inputs.values, "another blinding")
    changed = [replace(made.posted, inputs=data(other))]
    if made.seed is not None:
        changed += [
            replace(made.posted, output=data(other)),
            replace(made.posted, seed=data(other)),
            replace(made.posted, coins=made.law.coins(made.posted.setting, Flipped("other coins"))),
        ]
    claims = [made.claim(proof), *(replace(made, posted=each).claim(proof) for each in changed)]
    claims.append(replace(made.claim(proof), transcript=transcript(b"another party")))
    assert refused(claims) == tuple(range(1, len(claims)))


@every_sample
def test_inputs_out_of_range_are_not_proved(name: str, group: Group) -> None:
    largest = Prover.of(group, name, [20, 20, 20])
    assert refused([largest.claim(largest.proof())]) == ()
    with pytest.raises(UsageError):
        Prover.of(group, name, [21, 21, 21]).proof()


@every_sample
def test_a_seed_serves_one_list_of_coins_of_its_own_law(name: str, group: Group) -> None:
    made = Prover.of(group, name)
    assert made.proof()
    for other in SAMPLES:
        foreign = Prover.of(group, other)
        if SAMPLES[other][0] != made.law:
            with pytest.raises(UsageError):
                replace(Prover.of(group, name), seed=foreign.seed).proof()
    if made.seed is None:
        return
    coins, others = made.posted.coins, made.law.coins(made.posted.setting, Flipped("other coins"))
    assert made.seed.noise(coins).reveal().ints() == made.seed.noise(coins).reveal().ints()
    with pytest.raises(UsageError):
        made.seed.noise(others)
    fresh = made.law.seed(
        made.posted.setting, made.inputs.values, transcript(), rng=seeded("fresh")
    )
    assert fresh is not None
    with pytest.raises(UsageError):
        fresh.noise(coins[:-1])
    assert len(fresh.noise(coins)) == made.posted.setting.dimension
    with pytest.raises(UsageError):
        replace(made, posted=replace(made.posted, coins=others)).proof()


@every_sample
def test_a_false_output_is_not_proved(name: str, group: Group) -> None:
    made = Prover.of(group, name)
    assert made.proof()
    if made.seed is None:
        return
    ones = group.scalars([1] * made.posted.setting.dimension)
    wrong = opened(made.law, made.posted.setting, made.output.values + ones, "output")
    posted = replace(made.posted, output=data(wrong))
    with pytest.raises(UsageError):
        replace(Prover.of(group, name), posted=posted, output=wrong).proof()
