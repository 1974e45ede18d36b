"""Rounds of long vectors: honest parties are accepted, their sums are right, liars are named."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

from commitments import ristretto255
from commitments.group import Group
from gopa.contract.bodies import bodies_of
from gopa.contract.limits import largest_body, length_proof_size, mask_proof_size
from gopa.contract.manifest import Path
from gopa.contract.phases import KIND_IN, Phase
from gopa.contract.row_terms import weight_bound
from gopa.contract.rows import Prove, RowCommit, RowJoin, RowPublish
from gopa.contract.words import pack_words, unpack_words
from gopa.rounds.context import RoundContext
from gopa.rounds.masks import self_words
from gopa.rounds.masks.equations import edge_equation
from gopa.rounds.proofs import LengthClaim, Proofs
from gopa.rounds.rows.challenges import signed_permutation
from gopa.rounds.rows.inputs import draw_noise, hide_input, hide_noise
from gopa.rounds.rows.words import equation_points_at, fits_seed, masked
from gopa.rounds.statements import require_provable
from tests.contract.samples import manifest, row_manifest, row_terms, signed_manifest
from tests.protocol.simulation.doubles import SWIFT
from tests.randomness import seeded
from tests.rounds.doubles import ProofDoubles
from tests.rounds.rows.worlds import (
    JOINT,
    PUBLISH,
    REAL,
    SESSION,
    RowParty,
    RowRound,
    context_of,
    edge_key,
    masks_of,
    party_number,
    play,
    run,
    vector_of,
)
from tests.verifier.test_parts import part
from tests.zkp.rows.worlds import decoded_tests
from wire.errors import ComputationFault, UsageError
from wire.secret import Guarded
from zkp.noise import NoNoise, binomial
from zkp.rows.mask_prover import HiddenMasks

RNG = seeded("checks")
PROOFS: tuple[Proofs, ...] = (REAL, ProofDoubles(), SWIFT.proofs)


def bad(claims: Sequence[Any], proofs: Proofs = REAL) -> frozenset[int]:
    """The positions of bad claims, all of one kind."""
    if isinstance(claims[0], LengthClaim):
        return proofs.bad_lengths(claims, RNG)
    return proofs.bad_masks(claims, RNG)


@pytest.fixture(scope="module")
def made() -> RowRound:
    return run(context_of())


def total_of(found: RowRound) -> list[int]:
    """The sum as the rules make it: words added up, self-masks opened and taken away."""
    context, width = found.context, found.context.manifest.word_width
    total = np.zeros(context.dimension, np.uint64)
    for party in found.parties:
        words = unpack_words(party.published.value, context.dimension, width)
        own = self_words(party.masks.seed, party.masks.own, context.dimension, width)
        total += words.astype(np.uint64) - own
    half = 1 << (width - 1)
    return [(int(word) + half) % (1 << width) - half for word in total]


def expected(found: RowRound) -> list[int]:
    """The sum of vectors and moved noise, over the integers."""
    context, total = found.context, np.zeros(found.context.dimension, np.int64)
    for party in found.parties:
        moved = signed_permutation(context, JOINT, party.name).applied(party.drawn.rows.values)
        total += party.vector + moved[: context.dimension]
    return [int(each) for each in total]


def require_honest(found: RowRound) -> None:
    """Everybody is accepted, and the sum is right."""
    assert not bad(found.lengths)
    assert not bad(found.words)
    assert total_of(found) == expected(found)


@pytest.mark.parametrize(
    ("dimension", "width", "weighted"),
    [(2, 16, False), (40, 16, False), (40, 33, True), (33, 64, False), (70, 32, False)],
)
def test_honest_parties_are_accepted_and_their_sum_is_right(
    dimension: int, width: int, weighted: bool
) -> None:
    found = run(context_of(dimension, width, weighted=weighted))
    require_honest(found)
    assert any(expected(found))


def test_honest_parties_are_accepted_on_every_backend(group: Group) -> None:
    found = run(context_of(5, group=group), 2)
    require_honest(found)


def test_exact_sums_are_proved_like_others() -> None:
    context = context_with(noise=NoNoise(), epsilon=None, noise_square=1, spike=1)
    found = run(context)
    require_honest(found)
    assert not any(party.drawn.rows.values.any() for party in found.parties)


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "width"), [(1025, 64), (3000, 20)])
def test_longer_vectors_are_accepted(dimension: int, width: int) -> None:
    found = run(context_of(dimension, width), 2)
    require_honest(found)


def test_masks_are_shown_at_several_points_where_many_may_leave() -> None:
    """Who is listed decides how many: a proof for fewer points is none."""
    many = row_terms(parties=1000, corrupt=90, survivors=880, loss=0, late=100, k=9)
    context = RoundContext(row_manifest(many, word_width=32), SESSION, 1, ristretto255())
    found = run(context, 3, listed=1000)
    assert [len(party.shown.total.values) for party in found.parties] == [3] * 3
    assert not bad(found.words)
    assert total_of(found) == expected(found)
    assert bad([replace(each, listed=880) for each in found.words]) == {0, 1, 2}
    few = run(context, 3, listed=880)
    assert not bad(few.words)
    assert bad([replace(each, listed=1000) for each in few.words]) == {0, 1, 2}


def test_a_party_without_live_edges_masks_with_its_own_mask() -> None:
    context = context_of()
    found = play(
        context, equation_points_at(context, PUBLISH, 3), masks_of(context, 0, []), 3, REAL, RNG
    )
    assert not bad([found.words])
    alone = RowRound(context, (found,), equation_points_at(context, PUBLISH, 3))
    assert total_of(alone) == expected(alone)


@pytest.mark.parametrize("proofs", PROOFS, ids=["real", "doubles", "tags"])
def test_every_interface_accepts_what_went_through_its_prover(proofs: Proofs) -> None:
    found = run(context_of(), 3, proofs)
    for claims in (found.lengths, found.words):
        assert not bad(claims, proofs)
        wrong = [*claims[1:], replace(claims[0], tests=claims[1].tests)]
        assert bad(wrong, proofs) == {2}


def moved(claim: Any) -> list[Any]:
    """The same claim in another session, round, after another close, by another party."""
    context = claim.context
    return [
        replace(claim, context=replace(context, session=b"\x01" * 32)),
        replace(claim, context=replace(context, round=2)),
        replace(claim, acts_on=b"\x01" * 32),
        replace(claim, party=party_number(9)),
        replace(claim, joint=b"\x02" * 32),
    ]


def with_other_fields(claim: Any, other: Any) -> list[Any]:
    """The claim with one field at a time taken from another party's."""
    skipped = {"context", "acts_on", "party", "joint", "listed"}
    names = [name for name in claim.__slots__ if name not in skipped]
    values = [{name: getattr(other, name)} for name in names]
    different = [each for each in values if any(getattr(claim, k) != v for k, v in each.items())]
    return [replace(claim, **each) for each in different]


@pytest.mark.parametrize("kind", ["lengths", "words"])
def test_every_field_is_bound(made: RowRound, kind: str) -> None:
    first, second, third = getattr(made, kind)
    wrong = [*moved(first), *with_other_fields(first, second)]
    assert len(wrong) >= 10
    found = bad([first, *wrong, second, third])
    assert found == frozenset(range(1, len(wrong) + 1))


def test_a_claim_about_words_is_about_its_edges(made: RowRound) -> None:
    """Which edges live, with which signs, and how many are listed, is for the rules to say."""
    claim = made.parties[1].words
    other = (claim.edges[1], claim.edges[0])
    accepted = [claim, replace(claim, listed=5)]  # as many points
    wrong = [
        replace(claim, neighbours=(0, 3)),
        replace(claim, signs=tuple(-each for each in claim.signs)),
        replace(claim, edges=other),
        replace(claim, edges=other, neighbours=(1, 2)),
        replace(
            claim, neighbours=claim.neighbours[:1], signs=claim.signs[:1], edges=claim.edges[:1]
        ),
    ]
    found = bad([*accepted, *wrong])
    assert found == frozenset(range(len(accepted), len(accepted) + len(wrong)))


@pytest.mark.parametrize(
    "fields",
    [
        {"neighbours": (2, 0)},
        {"neighbours": (0,)},
        {"neighbours": (0, 0)},
        {"neighbours": (0, 5)},
        {"neighbours": (-1, 2)},
        {"signs": (1, 0)},
        {"signs": (1,)},
        {"listed": 0},
        {"listed": 6},
        {"joint": b""},
        {"acts_on": b"\1" * 31},
    ],
    ids=str,
)
def test_what_the_caller_says_itself_counts_against_nobody(
    made: RowRound, fields: dict[str, Any]
) -> None:
    claim = made.parties[1].words
    assert not bad([claim])
    with pytest.raises(UsageError):
        replace(claim, **fields)


def strange(claim: Any) -> list[Any]:
    """What strangers may post in each field of theirs."""
    changes: list[dict[str, Any]] = []
    no_point, identity = b"\xff" * 32, bytes(32)
    for name in claim.__slots__:
        value = getattr(claim, name)
        if isinstance(value, tuple) and value and isinstance(value[0], bytes):
            rest = value[1:]
            others: tuple[Any, ...] = (
                (no_point, *rest), (identity, *rest), rest, (*value, value[0]), (),
                (value[0][:31], *rest), (value[0] + b"\0", *rest), (b"", *value),
            )  # fmt: skip
        elif name in {"tests", "proof", "value", "self_mask"}:
            others = (b"", value[:-1], value + b"\0", b"\xff" * len(value), bytes(len(value)))
        else:
            continue
        changes += [{name: other} for other in others]
    return [each for each in (replace(claim, **change) for change in changes) if each != claim]


@pytest.mark.parametrize("kind", ["lengths", "words"])
def test_strangers_bytes_are_bad_claims_and_stop_no_check(made: RowRound, kind: str) -> None:
    first, second, _ = getattr(made, kind)
    wrong = strange(first)
    assert len(wrong) > 30
    assert bad([first, *wrong, second]) == frozenset(range(1, len(wrong) + 1))


def test_rows_that_are_cut_elsewhere_are_bad(made: RowRound) -> None:
    """The bytes are the same, and two messages would say so."""
    claim = made.lengths[0]
    first, second, *others = claim.pads
    cut = (first + second[:1], second[1:], *others)
    assert b"".join(cut) == b"".join(claim.pads)
    assert bad([claim, replace(claim, pads=cut)]) == {1}


@pytest.mark.parametrize("kind", ["lengths", "words"])
def test_a_flipped_bit_anywhere_is_noticed(made: RowRound, kind: str) -> None:
    claim = getattr(made, kind)[0]
    wrong = []
    for name in ("tests", "proof") if kind == "lengths" else ("tests", "proof", "value"):
        data = getattr(claim, name)
        for at in range(0, len(data), max(1, len(data) // 12)):
            changed = data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]
            wrong.append(replace(claim, **{name: changed}))
    assert bad([claim, *wrong]) == frozenset(range(1, len(wrong) + 1))


def test_words_above_their_width_are_bad(made: RowRound) -> None:
    """Nobody publishes two encodings of one vector."""
    context = context_of(33, 33)
    claim = run(context, 2).words[0]
    assert not bad([claim])
    last = claim.value[:-1] + bytes([claim.value[-1] | 0x80])
    assert bad([claim, replace(claim, value=last)]) == {1}
    assert bad([claim, replace(claim, value=made.words[0].value)]) == {1}


@pytest.mark.slow
def test_claims_travel_to_workers_without_the_roster(made: RowRound) -> None:
    with ThreadPoolExecutor(1) as executor:
        one, other, third = made.lengths
        copied = replace(one, proof=other.proof)
        assert REAL.bad_lengths([one, other, third, copied], RNG, executor) == {3}
        first, second, last = made.words
        false = replace(first, proof=second.proof)
        assert REAL.bad_masks([first, second, last, false], RNG, executor) == {3}
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert REAL.bad_masks([first, false], RNG, pool) == {1}


@pytest.mark.parametrize("make", [manifest, signed_manifest], ids=["full", "signed"])
def test_other_sessions_have_no_such_claims(made: RowRound, make: Any) -> None:
    """Nothing may be checked by halves: a caller who mixes paths is told."""
    agreed = make()
    other = RoundContext(agreed, SESSION, 1, ristretto255())
    with pytest.raises(UsageError, match="path of rows"):
        REAL.bad_lengths([replace(made.lengths[0], context=other)], RNG)
    with pytest.raises(UsageError, match="path of rows"):
        REAL.bad_masks([replace(made.words[0], context=other)], RNG)
    with pytest.raises(UsageError, match="path of rows"):
        require_provable(made.context)


# What a party holds and says.


def test_secrets_do_not_print_or_travel(made: RowRound) -> None:
    party = made.parties[0]
    held = [party.given, party.drawn, party.masks, party.masks.edges[0], party.published]
    for secret in [*held, party.shown]:
        assert isinstance(secret, Guarded)
        assert "secret" in repr(secret)
        with pytest.raises(UsageError):
            pickle.dumps(secret)


def test_vectors_that_are_too_long_are_refused_before_anything_is_said() -> None:
    context = context_of()
    fits = np.zeros(40, np.int64)
    fits[:3] = (10, -10, 10)
    hide_input(context, fits, rng=RNG)
    for place in (0, 3):
        wrong = fits.copy()
        wrong[place] += 11 if place else 1
        with pytest.raises(UsageError, match="longer than the terms"):
            hide_input(context, wrong, rng=RNG)
    for entry in (64, -65, 2**62):
        wrong = fits.copy()
        wrong[9] = entry
        with pytest.raises(UsageError):
            hide_input(context, wrong, rng=RNG)
    with pytest.raises(UsageError, match="40"):
        hide_input(context, fits[:39], rng=RNG)


def test_weights_bound_what_is_beside_them() -> None:
    """k = 1, D = 2: four times the squared length is at most (v + sigma)^2."""
    context = context_of(weighted=True)
    slack = weight_bound(context.manifest.terms).slack
    vector = np.zeros(40, np.int64)
    vector[:2], vector[-1] = (0, (5 + slack) // 2), 5
    assert 2 * int(vector[1]) == 5 + slack
    hide_input(context, vector, rng=RNG)
    for change, words in (((1, 0), "its weight"), ((0, -1), "its weight"), ((0, -6), "a weight")):
        wrong = vector.copy()
        wrong[0], wrong[-1] = change[0], 5 + change[1]
        with pytest.raises(UsageError, match=words):
            hide_input(context, wrong, rng=RNG)
    heavy = vector.copy()
    heavy[1], heavy[-1] = 0, 33
    with pytest.raises(UsageError, match="a weight"):
        hide_input(context, heavy, rng=RNG)


def test_noise_is_drawn_again_until_it_is_within_its_bounds() -> None:
    context = context_of()
    terms = context.manifest.terms
    draws = [draw_noise(context, rng=RNG)[1] for _ in range(200)]
    sums = [sum(each**2 for each in draw.tolist()) for draw in draws]
    # The law's variance is 2.25: half of all vectors would be above the mean of 40 entries.
    tight = context_with(noise_square=90)
    kept = [draw_noise(tight, rng=RNG)[1] for _ in range(200)]
    assert max(sums) > 90 >= max(sum(each**2 for each in draw.tolist()) for draw in kept)
    assert max(sums) <= terms.noise_square
    # Of 64 bits the variance is 16: sums of eighth powers are about 11^8, so half are above.
    wide: dict[str, Any] = {"noise": binomial(64), "noise_square": 10_000}
    free, spiked = (context_with(spike=spike, **wide) for spike in (30, 11))
    above, below = (
        [sum(each**8 for each in draw_noise(context, rng=RNG)[1].tolist()) for _ in range(50)]
        for context in (free, spiked)
    )
    assert min(above) < 11**8 < max(above) <= 30**8
    assert max(below) <= 11**8
    assert abs(np.mean(draws)) < 0.1
    with pytest.raises(UsageError, match="hardly ever"):
        draw_noise(context_with(noise_square=1), rng=RNG)
    exact = context_with(noise=NoNoise(), epsilon=None)
    assert not draw_noise(exact, rng=RNG)[1].any()
    assert draw_noise(context_with(noise=binomial(16)), rng=RNG)[1].any()


def context_with(**changes: Any) -> RoundContext:
    return RoundContext(row_manifest(row_terms(**changes)), SESSION, 1, ristretto255())


def test_rows_of_noise_and_pads_are_fresh_and_those_of_a_vector_stay() -> None:
    context = context_of()
    vector = vector_of(context, 1)
    given = hide_input(context, vector, rng=RNG)
    assert given.posted == given.posted
    assert len(given.posted) == 2
    again = hide_input(context, vector, rng=RNG)
    assert not set(given.posted) & set(again.posted)
    one, other = (hide_noise(context, rng=RNG) for _ in range(2))
    assert not set(one.posted) & set(other.posted)
    assert not set(one.posted_pads) & set(other.posted_pads)
    assert len(one.posted_pads) == 12


@pytest.mark.parametrize("width", [16, 17, 32, 33, 63, 64])
def test_words_and_carries_make_up_the_sum_over_the_integers(width: int) -> None:
    draws = np.random.default_rng(width)
    vector = draws.integers(-(2 ** min(width - 1, 62)), 2 ** min(width - 1, 62), 200)
    vector[:4] = (0, -1, 1, -(2**14))
    masks = []
    for at in range(9):
        mask = draws.integers(0, 2**63, 200, np.uint64) * np.uint64(2) + np.uint64(at & 1)
        mask &= np.uint64(2**width - 1)
        mask[at], mask[20 + at] = 0, 2**width - 1
        masks.append((1 if at % 3 else -1, mask))
    words, carries = masked(vector, masks, width)
    for j in range(200):
        exact = int(vector[j]) + sum(sign * int(mask[j]) for sign, mask in masks)
        assert (int(words[j]), int(carries[j])) == (exact % 2**width, exact >> width)
    assert int(np.abs(carries).max()) <= len(masks) + 1


def test_the_equation_holds_at_every_point(made: RowRound) -> None:
    """14-P6 with Python's integers: words are vector, moved noise and masks, less the carries."""
    party, context = made.parties[1], made.context
    v, tag = part("row_proofs").shape_of(40).v, SESSION + (1).to_bytes(2)
    (z,) = part("row_coins").equation_points(tag, PUBLISH, 1, v)
    table = part("row_proofs").spread(z)

    def extension(values: list[int]) -> int:
        return sum(map(int.__mul__, table, values)) % context.group.order

    noise = signed_permutation(context, JOINT, party.name).applied(party.drawn.rows.values)
    words = unpack_words(party.published.value, 40, 16).tolist()
    carries = party.published.carries.values[:40].tolist()
    mask = int(party.shown.total.values[0].reveal())
    left = extension(words)
    parts = extension((party.vector + noise[:40]).tolist()) + mask
    order = context.group.order
    assert (parts - 2**16 * extension(carries) - left) % order == 0


def test_opened_keys_fit_what_both_ends_showed(made: RowRound) -> None:
    found, (first, second, _) = made.points, made.parties
    edge = first.masks.edges[0]
    assert edge.neighbour == 1
    mask, other_key = (
        edge_equation(found, key, edge.context).commitment().to_bytes()
        for key in (edge.key, edge_key(0, 2))
    )
    assert mask == first.shown.edges[0] == second.shown.edges[0]
    assert mask not in {other_key, first.shown.edges[1]}
    assert fits_seed(found, first.masks.seed, first.masks.own, first.shown.self_mask)
    assert not fits_seed(found, second.masks.seed, first.masks.own, first.shown.self_mask)
    other = equation_points_at(made.context, JOINT, 3)
    assert edge_equation(other, edge.key, edge.context).commitment().to_bytes() != mask
    assert not fits_seed(other, first.masks.seed, first.masks.own, first.shown.self_mask)


def test_a_party_that_was_taken_back_is_taken_out_by_its_edges(made: RowRound) -> None:
    """Without the third party, the keys of its edges open what it left in the others' words."""
    context = made.context
    stay = made.parties[:2]
    total = np.zeros(40, np.uint64)
    for party in stay:
        words = unpack_words(party.published.value, 40, 16).astype(np.uint64)
        total += words - self_words(party.masks.seed, party.masks.own, 40, 16)
        (edge,) = [each for each in party.masks.edges if each.neighbour == 2]
        mask = next(mask for _, mask in masks_of(context, party.position, [2]).words(context))
        total -= mask if edge.sign > 0 else np.uint64(0) - mask
    signed = [(int(word) + 2**15) % 2**16 - 2**15 for word in total]
    assert signed == expected(replace(made, parties=stay))


def test_provers_release_nothing_that_does_not_hold(made: RowRound) -> None:
    party = made.parties[0]
    claim = replace(party.words, value=pack_words(np.zeros(40, np.uint64), 16), proof=b"")
    with pytest.raises((UsageError, ComputationFault)):
        REAL.prove_masks(claim, hidden_masks(party), seeded("liar"))
    proof = REAL.prove_masks(replace(party.words, proof=b""), hidden_masks(party), seeded("again"))
    assert not bad([replace(party.words, proof=proof)])
    tests = decoded_tests(party.words.tests)
    assert len(tests) == 360
    assert max(map(abs, tests)) < 2**113


def hidden_masks(party: RowParty) -> HiddenMasks:
    total, said = party.shown.total, party.published
    rows = party.given.rows, party.drawn.rows, said.carries
    return HiddenMasks(*rows, said.pads, total.values, total.blinding)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_what_a_party_says_is_as_long_as_the_limits_allow(weighted: bool) -> None:
    """14-M3, byte for byte, for parties that are all neighbours."""
    found = run(context_of(weighted=weighted), 5)
    agreed, party = found.context.manifest, found.parties[0]
    lengths, words = party.lengths, party.words
    assert len(lengths.proof) == length_proof_size(agreed)
    assert len(words.proof) == mask_proof_size(agreed.terms, 1)
    own, key, edges = b"\1" * 32, b"\2" * 32, (b"\3" * 32,) * 4
    said = {
        Phase.JOIN: RowJoin(own, key, bytes(64), b"", lengths.input, lengths.noise, lengths.pads),
        Phase.COMMIT: RowCommit(own, edges, key, (), (), lengths.tests, lengths.proof),
        Phase.PUBLISH: RowPublish(own, words.value, words.carries, words.pads),
        Phase.PROVE: Prove(own, words.edges, words.self_mask, words.tests, words.proof),
    }
    for phase, message in said.items():
        codec = bodies_of(Path.ROWS)[KIND_IN[phase]]
        body = codec.encode(message)
        assert codec.decode(body) == message
        assert len(body) == largest_body(agreed, phase)
