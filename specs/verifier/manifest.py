"""The manifest: [S2], [S4], [S5] and [Z2] of 04, and what follows from its terms."""

from __future__ import annotations

from decimal import Context, Decimal

from board import Policy, parse_key
from curve import decode_key
from laws import noise_law
from proofs import length, proof_size, table_bits, weights
from codec import Record, Unsupported, decode, require, strict


ROW_TERMS = (
    "squared_norm", "noise_square", "spike", "late", "weight_length", "weight_scale",
)  # fmt: skip


def read_manifest(body: bytes, author: bytes) -> Record:
    """A manifest that keeps [S2], and what follows; Wrong for any other. [S3] is not judged."""
    if int.from_bytes(body[:2]) != 4:
        raise Unsupported("a version of the manifest that is not known")
    m: Record = decode("Manifest", body)
    require(m.organiser == author)
    decode_key(author)
    if m.path == "rows":
        raise Unsupported("the path of rows")
    m.full, m.curious = m.mode == "full", m.trust == "honest_but_curious"
    m.exact = m.terms.noise.tag == "none"
    m.vector = m.terms.noise.tag == "weighted_bits"  # its commitments are vector commitments
    m.vector = m.vector or (m.exact and m.terms.dimension > 1)
    m.recovers = m.terms.threshold_numerator > 0
    m.seeds = m.recovers and (m.vector or not m.full)  # what shares are of: section 6
    m.law, m.log_key = noise_law(m.terms.noise), parse_key(m.log, 1)
    m.log_policy = Policy(m.policy) if m.policy else None
    require(m.log_policy is None or m.log_policy.log == m.log_key)
    m.quorum = m.log_policy if m.log_policy and m.log_policy.quorum != b"none" else None
    m.degree = min(m.terms.parties - 1, 4 * m.terms.k + 64)  # g of [S4]
    _require_terms(m)
    _require_agreement(m)
    require(not any(map(m.terms.__dict__.get, ROW_TERMS)))
    m.largest = _largest(m)
    return m


def one_sum(m: Record) -> bool:
    """[S5]: a logical round without noise releases one sum at most."""
    t = m.terms
    most = 2 * t.survivors > t.parties + t.corrupt
    once = m.admission.tag == "roster" or t.attempts == 1
    return not m.exact or bool(t.mask == 1 and not t.charged and most and once)


def needed(m: Record, degree: int) -> int:
    """[K1]: T_u."""
    return int(m.terms.threshold_numerator * degree // m.terms.threshold_denominator) + 1


def _require_terms(m: Record) -> None:
    """The numbers of 03, [V32a], and their bounds."""
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
    """[S2], [Z2]: what beacon, admission, mode, trust, noise and words owe each other."""
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
    if m.full:
        require(not width and not m.curious and (t.dimension == 1 or m.vector))
        noise, weighing = _positions(m)
        require(max(noise, weighing * m.weighted) <= 2**23)
    else:
        require(8 <= width <= 64 and m.curious == (t.mask == 0) and not (m.curious and m.recovers))
        masks = t.parties * t.k * 14 * t.mask_deviation
        require(t.parties * (t.steps + m.law.R) + masks < 2 ** (width - 1))


def _positions(m: Record) -> tuple[int, int]:
    """Bits and extension of the proof of noise, and of the proof of weighing."""
    d, v = m.terms.dimension, len(weights(m.terms.steps))
    if not m.vector:
        return v if m.exact else table_bits(m.law, m.terms.steps), 0
    return (len(m.law.weights) + v) * d + d, (2 * d - 1) * v + d


def _largest(m: Record) -> dict[str, int]:
    """[S4]: the longest body of an honest message of each phase; 0 where there is none."""
    t, g, n, hidden = m.terms, m.degree, m.terms.parties, not m.curious
    nonce, bits = 32 * (m.beacon.tag == "commit_reveal"), -(-m.terms.parties // 8)
    head = 43 + 1 + 65_535 * (m.quorum is not None)
    commit = 78 + 32 * g
    if m.full:
        noise, weighing = (proof_size(length(size)) for size in _positions(m))
        commit += 32 * (not m.exact) + noise + weighing * m.weighted
    if m.recovers:
        commit += 32 * (needed(m, g) - 1 + m.seeds) + 64 * g
    return {
        "organiser": max(
            43 + 1 + 4 + n * (65 + nonce) + 8,
            head + 3 + bits + 4 + (2 * 96 if m.beacon.tag == "drand" else n * nonce) + 2,
            40 + 3 + 8 * t.dimension + 3 + 6 * n + 4,
        ),
        "join": 131 + nonce + (64 - 32 * m.exact) * m.full,
        "coins": 2 * nonce,
        "commit": commit,
        "accuse": 71 + 96,
        "publish": 37 + (32 * (t.dimension + 1) if m.full else -(-t.dimension * m.word_width // 8)),
        "rollback": (35 + 36 * g) * hidden,
        "confirm": 32 * hidden,
        "unmask": 64 * hidden,
        "recover": (35 + 68 * g) * m.recovers,
        "prove": 0,
    }
