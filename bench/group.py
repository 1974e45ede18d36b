"""The group, commitments, masks and Sigma proofs: CPU microseconds on one thread."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from bench import sigma
from bench.measure import Numbers, Scale, cpu_time, require
from bench.randomness import seeded
from commitments import Pedersen, VectorPedersen, backend_status, ristretto255
from commitments.backends import single_thread
from commitments.group import Group, PointVec, ScalarVec
from gopa.rounds.masks import RoundedGaussian
from wire.secret import SecretBytes


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much work each number stands for."""

    commits: int = 10_000
    msm: tuple[int, ...] = (1_000, 10_000)
    small_msm: int = 100_000
    decode: int = 10_000
    mask_values: int = 1_000_000
    draws: int = 1_000_000
    deviations: tuple[int, ...] = (50, 2_000)
    scanned_draws: int = 2_000
    small_rows: int = 40
    small_dimension: int = 1_000
    sigma_proofs: int = 1_000
    repeat: int = 5


NATIVE_SIZES = Sizes()
REFERENCE_SIZES = Sizes(
    commits=200,
    decode=500,
    sigma_proofs=50,
    draws=20_000,
    scanned_draws=500,
    small_rows=2,
    small_dimension=100,
    repeat=1,
)

TINY_SIZES = Sizes(
    commits=20,
    msm=(30,),
    small_msm=100,
    decode=20,
    mask_values=1_000,
    draws=1_000,
    scanned_draws=20,
    small_rows=2,
    small_dimension=10,
    sigma_proofs=4,
    repeat=1,
)


def run(scale: Scale) -> Numbers:
    """All numbers of the foundation; `full` has no tiled inputs to replace."""
    group = ristretto255()
    status = backend_status()
    usual = NATIVE_SIZES if status.active == "native" else REFERENCE_SIZES
    sizes = scale.of(TINY_SIZES, usual, usual)
    with single_thread(group):
        numbers = _measure(group, sizes)
    return {
        "bench": "group",
        "backend": status.active,
        "backend_details": status.details,
        "unit": "CPU microseconds on one thread, best of repeat",
        "repeat": sizes.repeat,
        "inputs": "all distinct, but for Sigma proofs where sigma_batch_distinct is smaller",
    } | numbers


def _measure(group: Group, sizes: Sizes) -> Numbers:
    numbers: Numbers = {}
    numbers |= _commit(group, sizes)
    numbers |= _fixed_base(group, sizes)
    numbers |= _decode(group, sizes)
    numbers |= _msm(group, sizes)
    numbers |= _small_msm(group, sizes)
    numbers |= _mask(group, sizes)
    for deviation in sizes.deviations:
        numbers |= _gaussian_mask(group, sizes, deviation)
    numbers |= _small_commitments(group, sizes)
    numbers |= sigma.measure(group, distinct=sizes.sigma_proofs, repeat=sizes.repeat)
    return numbers


def _random_public(group: Group, count: int, seed: int) -> ScalarVec:
    return group.random_scalars(count, seeded(seed)).reveal()


def _random_points(group: Group, count: int, seed: int) -> PointVec:
    return group.map_to_points(seeded(seed)(64 * count))


def _commit(group: Group, sizes: Sizes) -> Numbers:
    count = sizes.commits
    key = Pedersen(group)
    values = _random_public(group, count, 1).secret()
    blindings = group.random_scalars(count, seeded(2))

    def work() -> bytes:
        return key.commit(values, blindings).to_bytes()

    timed = cpu_time(work, repeat=sizes.repeat)
    everything = group.decode_points(timed.result, count).sum()
    require(
        everything == key.value_base * values.sum() + key.blinding_base * blindings.sum(),
        "the sum of all commitments",
    )
    last = count - 1
    expected = (key.value_base * values[last] + key.blinding_base * blindings[last]).to_bytes()
    require(timed.result[-group.point_size :] == expected, "a commitment")
    return {"commit_us": timed.us_per(count), "commit_batch": count, "commit_encoded": True}


def _fixed_base(group: Group, sizes: Sizes) -> Numbers:
    count = sizes.commits
    base = _random_points(group, 1, 3)
    table = group.fixed_bases(base)
    scalars = group.random_scalars(count, seeded(4))
    timed = cpu_time(lambda: table.combine(scalars), repeat=sizes.repeat)
    require(timed.result[0] == base[0] * scalars[0], "a fixed-base product")
    require(timed.result.sum() == base[0] * scalars.sum(), "the sum of all products")
    return {"fixed_base_us": timed.us_per(count)}


def _decode(group: Group, sizes: Sizes) -> Numbers:
    count = sizes.decode
    points = _random_points(group, count, 5)
    data = points.to_bytes()
    timed = cpu_time(lambda: group.decode_points(data, count), repeat=sizes.repeat)
    require(timed.result == points, "decoded points")
    return {"decode_us": timed.us_per(count), "decode_batch": count}


def _msm(group: Group, sizes: Sizes) -> Numbers:
    numbers: Numbers = {}
    for count in sizes.msm:
        points, logs = _points_with_logs(group, count)
        scalars = _random_public(group, count, 7)
        timed = cpu_time(partial(points.vartime_msm, scalars), repeat=sizes.repeat)
        require(timed.result == group.generator * scalars.inner(logs), f"an MSM of {count}")
        numbers[f"msm_us_per_point_{count}"] = timed.us_per(count)
    return numbers


def _small_msm(group: Group, sizes: Sizes) -> Numbers:
    count = sizes.small_msm
    points, logs = _points_with_logs(group, count)
    words = np.frombuffer(seeded(8)(4 * count), dtype=np.uint32)
    scalars = group.scalars(words)
    timed = cpu_time(lambda: points.vartime_msm(scalars), repeat=sizes.repeat)
    require(timed.result == group.generator * scalars.inner(logs), "a small MSM")
    return {f"msm32_us_per_point_{count}": timed.us_per(count)}


def _points_with_logs(group: Group, count: int) -> tuple[PointVec, ScalarVec]:
    """Points whose logarithms the benchmark knows, so that one product checks a sum."""
    logs = _random_public(group, count, 6)
    return group.fixed_bases(group.points([group.generator])).combine(logs), logs


def _mask(group: Group, sizes: Sizes) -> Numbers:
    count = sizes.mask_values
    seed = SecretBytes(seeded(9)(32))
    array = np.zeros(count, dtype=np.uint32)

    def work() -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
        array[:] = 0
        group.stream(seed, b"bench-mask\0\0").add_to(array, 1)
        return array

    timed = cpu_time(work, repeat=sizes.repeat)
    words = np.frombuffer(group.stream(seed, b"bench-mask\0\0").bytes(4 * count), dtype="<u4")
    require(bool((timed.result == words).all()), "a mask")
    return {"mask_ns_per_value": round(timed.us_per(count) * 1000, 3), "mask_values": count}


def _gaussian_mask(group: Group, sizes: Sizes, deviation: int) -> Numbers:
    """Draws added to an array by search, and draws as scalars, which read the whole table."""
    count, scanned = sizes.draws, sizes.scanned_draws
    seed, domain = SecretBytes(seeded(10)(32)), b"bench-draws\0"
    table = RoundedGaussian(deviation).table(group)
    array = np.zeros(count, dtype=np.int64)

    def work() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        array[:] = 0
        group.stream(seed, domain).add_wide_draws_to(array, 1, table)
        return array

    added = cpu_time(work, repeat=sizes.repeat)
    scalars = cpu_time(
        lambda: group.stream(seed, domain).wide_table_scalars(table, scanned), repeat=sizes.repeat
    )
    same = scalars.result.reveal() == group.scalars(added.result[:scanned])
    require(same, "draws as scalars and as words")
    name = f"gaussian_{deviation}"
    return {
        f"{name}_rows": 2 * table.radius + 1,
        f"{name}_ns_per_word": round(added.us_per(count) * 1000, 3),
        f"{name}_words": count,
        f"{name}_ns_per_scalar": round(scalars.us_per(scanned) * 1000, 3),
        f"{name}_scalars": scanned,
    }


def _small_commitments(group: Group, sizes: Sizes) -> Numbers:
    """Vector commitments to Gaussian masks of deviation 50, the short and the general way."""
    rows, dimension, law = sizes.small_rows, sizes.small_dimension, RoundedGaussian(50)
    key = VectorPedersen(group, dimension)
    stream = group.stream(SecretBytes(seeded(11)(32)), b"bench-small\0")
    values = [stream.wide_table_scalars(law.table(group), dimension) for _ in range(rows)]
    blindings = group.random_scalars(rows, seeded(12))
    small = cpu_time(lambda: key.commit_rows(values, blindings, bits=law.bits), repeat=sizes.repeat)
    plain = cpu_time(lambda: key.commit_rows(values, blindings), repeat=min(sizes.repeat, 2))
    require(small.result == plain.result, "commitments to small secrets")
    return {
        "small_vector_commit_us": small.us_per(rows),
        "small_vector_commit_bits": law.bits,
        "vector_commit_us": plain.us_per(rows),
        "vector_commit_rows": rows,
        "vector_commit_dimension": dimension,
    }
