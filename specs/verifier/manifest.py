"""The manifest: 04-S2, 04-S4, 04-S5 and 04-Z2, and what follows from its terms."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from math import isqrt

from board import LARGEST_BODY, Policy, chunks_of, parse_key
from curve import decode_key
from laws import noise_law
from row_coins import MOST_POINTS, count_of_points
from row_proofs import lengths_size, masks_size, shape_of
from proofs import length, proof_size, table_bits, weights
from codec import Record, Unsupported, decode, require, strict


ROW_TERMS = (
    "squared_norm", "noise_square", "spike", "late", "weight_length", "weight_scale",
)  # fmt: skip


def read_manifest(body: bytes, author: bytes) -> Record:
    """A manifest that keeps 04-S2, and what follows; Wrong for any other. 04-S3 is not judged."""
    if int.from_bytes(body[:2]) != 6:
        raise Unsupported("a version of the manifest that is not known")
    m: Record = decode("Manifest", body)
    require(m.organiser == author)
    decode_key(author)
    m.full, m.curious = m.mode == "full", m.trust == "honest_but_curious"
    m.rows = m.path == "rows"
    m.bits = m.full and not m.rows  # one commitment for each number
    m.exact = m.terms.noise.tag == "none"
    m.vector = m.terms.noise.tag == "weighted_bits"  # its commitments are vector commitments
    m.vector = not m.rows and (m.vector or (m.exact and m.terms.dimension > 1))
    m.recovers = m.terms.threshold_numerator > 0
    m.seeds = m.recovers and (m.vector or not m.bits)  # what shares are of: section 6
    m.law, m.log_key = noise_law(m.terms.noise), parse_key(m.log, 1)
    m.log_policy = Policy(m.policy) if m.policy else None
    require(m.log_policy is None or m.log_policy.log == m.log_key)
    m.quorum = m.log_policy if m.log_policy and m.log_policy.quorum != b"none" else None
    m.degree = min(m.terms.parties - 1, 4 * m.terms.k + 64)  # g of 04-S4
    _require_terms(m)
    _require_agreement(m)
    if m.rows:
        _require_rows(m)
    else:
        require(not any(map(m.terms.__dict__.get, ROW_TERMS)))
    m.largest = _largest(m)
    long = 43 + 8 * m.terms.dimension > LARGEST_BODY  # sums in entries of their own
    m.chunks = {phase: chunks_of(size) for phase, size in m.largest.items()}
    m.chunks["organiser"] += 2 if long else 0
    m.chunks["commit"], m.chunks["prove"] = m.chunks["commit"] + 1, m.chunks["prove"] + 1  # heads
    return m


def one_sum(m: Record) -> bool:
    """04-S5: a logical round without noise releases one sum at most."""
    t = m.terms
    most = 2 * t.survivors > t.parties + t.corrupt
    once = m.admission.tag == "roster" or t.attempts == 1
    return not m.exact or bool(t.mask == 1 and not t.charged and most and once)


def needed(m: Record, degree: int) -> int:
    """04-K1: T_u."""
    return int(m.terms.threshold_numerator * degree // m.terms.threshold_denominator) + 1


def _require_terms(m: Record) -> None:
    """The numbers of 03-V32a, and their bounds."""
    t = m.terms
    box = t.dimension * t.steps**2
    bounds = (
        (3, t.parties, 2**20), (1, t.corrupt, t.parties - 2),
        (t.corrupt + 2, t.survivors, t.parties), (0, t.loss, t.parties - t.survivors),
        (1, t.k, t.parties - 1), (1, t.rounds, 10_000), (0, t.charged, 100),
        (t.charged + 1, t.attempts, 1000), (0, t.rounds * t.attempts, 65_535),
        (1, t.dimension, 2**20), (1, t.steps, 2**40), (0, t.mask, 1), (0, t.beacon, 1),
        (box if t.dimension == 1 else 1, t.squared_sensitivity, box),
        (1 - t.mask, t.mask_deviation, 2**16 * (1 - t.mask)),
        (1, t.threshold_denominator, 65_535),
        (0, t.threshold_numerator, t.threshold_denominator - 1),
        (0, m.degree, 65_535),
    )  # fmt: skip
    require(all(low <= value <= high for low, value, high in bounds))
    low, high, delta, beta = map(_decimal, (t.low, t.high, t.delta, t.beta))
    require(low < high and m.exact == (t.epsilon == b""))
    require(m.exact or 0 < _decimal(t.epsilon) <= 100)
    require(Decimal("1e-20") <= delta < 1 and 0 <= beta < 1)


def _decimal(data: bytes) -> Decimal:
    """A finite decimal number in its one spelling, of at most 40 digits."""
    value: Decimal = strict(lambda data: Decimal(data.decode("ascii")), data)
    require(value.is_finite() and Context(capitals=1).to_sci_string(value) == data.decode())
    _, digits, scale = value.as_tuple()
    exponent = int(scale) if value.is_zero() else value.adjusted()
    require(len(digits) <= 40 and abs(exponent) <= 60)
    return value


def _require_agreement(m: Record) -> None:
    """04-S2, 04-Z2: what beacon, admission, mode, trust, noise and words owe each other."""
    t, width, roster = m.terms, m.word_width, getattr(m.admission, "keys", [])
    drand = m.beacon.tag == "drand"
    require(m.simulation if m.beacon.tag == "test" else t.beacon == drand)
    require(not drand or m.quorum is not None)
    if m.admission.tag == "roster":
        require(len(roster) == t.parties and roster == sorted(set(roster) - {m.organiser}))
    else:
        require(t.survivors <= m.admission.most <= t.parties)
        require(not t.threshold_numerator or t.attempts == t.charged + 1)
    require(not m.weighted or t.dimension >= 2)
    if m.rows:  # 14-L1
        require(m.full and not m.curious and t.mask == 1 and t.dimension >= 2 and 16 <= width <= 64)
    elif m.full:
        require(not width and not m.curious and (t.dimension == 1 or m.vector))
        noise, weighing = _positions(m)
        require(max(noise, weighing * m.weighted) <= 2**23)
    else:
        require(8 <= width <= 64 and m.curious == (t.mask == 0) and not (m.curious and m.recovers))
        masks = t.parties * t.k * 14 * t.mask_deviation
        require(t.parties * (t.steps + m.law.R) + masks < 2 ** (width - 1))


def _require_rows(m: Record) -> None:
    """14: 14-L5, 14-M6 with 04-K2 and 14-W1."""
    t, n, w = m.terms, m.terms.parties, m.word_width
    d, B, S, K, steps = t.dimension, t.squared_norm, t.noise_square, t.spike, t.steps
    M2, missing = t.squared_sensitivity, n - t.survivors
    require(1 <= B < 2**62 and 1 <= S < 2**62 and 1 <= K < 2**31)
    require(n * (isqrt(B) + min(K, isqrt(S))) < 2 ** (w - 1))
    require(min(t.corrupt, missing) <= t.late <= missing)
    m.shape, m.bounds, m.weight = shape_of(d), [B, S, K], []
    require(count_of_points(m.shape.v, n, t.late) <= MOST_POINTS)
    low, high = (Fraction(_decimal(each)) for each in (t.low, t.high))
    origin = -low * steps / (high - low)
    k, D = t.weight_length, t.weight_scale
    counts = (B, M2, origin) == (steps**2, 2 * steps**2, 0) and not m.weighted
    if not m.weighted:
        require(not k and not D and (counts or 4 * B <= M2))
    else:
        with localcontext(Context(prec=60)):
            root, spread = Decimal(d).sqrt(), (32 * Decimal(2).ln()).sqrt()
            sigma = int((k + (root / 2 + spread) * D).to_integral_value(ROUND_CEILING))
            require(k and D and steps < 2**31 and sigma < 2**64)
            square = (Decimal(k * steps) / D) ** 2 + steps**2
            length = square.sqrt()
            hardly = square + Decimal(d) / 4 + (2 * length + root) * spread
            require(min(hardly, (length + root) ** 2) < B + 1)  # 14-W1
        C, more = Fraction(k * steps, D), Fraction(2 * sigma, D)
        require(max((2 * C + more) ** 2, (C + more) ** 2 + steps**2) <= M2)  # 14-W3
        m.weight = [steps, k, D, sigma]
    if m.weighted or (not counts and d * steps**2 == M2):  # the middle: 14-W1, 14-Y4
        require(steps % 2 == 0)
    else:
        require(origin.denominator == 1 and 0 <= origin <= steps)


def _positions(m: Record) -> tuple[int, int]:
    """Bits and extension of the proof of noise, and of the proof of weighing."""
    d, v = m.terms.dimension, len(weights(m.terms.steps))
    if not m.vector:
        return v if m.exact else table_bits(m.law, m.terms.steps), 0
    return (len(m.law.weights) + v) * d + d, (2 * d - 1) * v + d


def _largest(m: Record) -> dict[str, int]:
    """04-S4: the longest body of an honest message of each phase; 0 where there is none."""
    t, g, n, hidden = m.terms, m.degree, m.terms.parties, not m.curious
    nonce, bits = 32 * (m.beacon.tag == "commit_reveal"), -(-m.terms.parties // 8)
    head = 43 + 1 + 65_535 * (m.quorum is not None)
    commit = 78 + 32 * g
    if m.full and not m.rows:
        noise, weighing = (proof_size(length(size)) for size in _positions(m))
        commit += 32 * (not m.exact) + noise + weighing * m.weighted
    if m.recovers:
        commit += 32 * (needed(m, g) - 1 + m.seeds) + 64 * g
    words = -(-t.dimension * m.word_width // 8)
    join, publish, prove = 131 + (64 - 32 * m.exact) * m.full, 37 + words, 0
    if m.rows:  # 14-M3
        rows, pads = 32 * m.shape.h, 32 * m.shape.pads
        join, publish = 137 + 2 * rows + pads, 41 + words + rows + pads
        commit += 5475 - 78 + lengths_size(m.shape, m.bounds, m.weight)
        most = count_of_points(m.shape.v, n, t.late)
        prove = 5469 + masks_size(m.shape, most) + 32 * g
    elif m.full:
        publish = 37 + 32 * (t.dimension + 1)
    return {
        "organiser": max(
            43 + 1 + 4 + n * (65 + nonce) + 8,
            head + 3 + bits + 4 + (2 * 96 if m.beacon.tag == "drand" else n * nonce) + 2,
            40 + 3 + 8 * t.dimension + 3 + 6 * n + 4,
        ),
        "join": join + nonce,
        "coins": 2 * nonce,
        "commit": commit,
        "accuse": 71 + 96,
        "publish": publish,
        "rollback": (35 + 36 * g) * hidden,
        "confirm": 32 * hidden,
        "unmask": 64 * hidden,
        "recover": (35 + 68 * g) * m.recovers,
        "prove": prove,
    }
