"""The manifest: [S2], [S4] and [Z2] of 04, and what follows from its terms."""

from __future__ import annotations

from decimal import Context, Decimal, InvalidOperation
from hashlib import sha256

from codec import CURIOUS, FULL, MALICIOUS, MANIFEST, Malformed, Record, Unsupported, decode
from curve import decode_key
from law import Law, noise_law
from log import LARGEST_BODY, Policy, parse_key
from proofs import length, proof_size, table_bits, weights

MOST_NEIGHBOURS = 65_535
ORGANISER, JOIN, COINS, COMMIT, ACCUSE, PUBLISH, ROLLBACK, CONFIRM, UNMASK, RECOVER = range(10)


def session_id(body: bytes) -> bytes:
    """[S1]."""
    return sha256(b"gopa/v1/protocol/session" + body).digest()


class Manifest:
    """A manifest that keeps [S2]; Malformed for any other. [S3] is not judged here."""

    def __init__(self, body: bytes, author: bytes) -> None:
        if int.from_bytes(body[:2]) > 1:
            raise Unsupported("a version of the manifest that is not known")
        self.said: Record = decode(MANIFEST, body)
        _require(self.said.version == 1, "version 1")
        self.terms: Record = self.said.terms
        self.full = self.said.mode == FULL
        self.curious = self.said.trust == CURIOUS
        self.law: Law = noise_law(self.terms.noise)
        self.vector = self.terms.noise.tag == "weighted_bits"
        """Whether commitments are vector commitments: where noise comes from weighted bits."""
        self.beacon: str = self.said.beacon.tag
        self.recovers = self.full and self.terms.threshold_numerator > 0
        _require(self.said.organiser == author, "the organiser's own manifest")
        decode_key(author)
        self.policy = Policy(self.said.policy) if self.said.policy else None
        try:
            self.log = parse_key(self.said.log.decode(), 1)
        except UnicodeDecodeError:
            raise Malformed("the verifier key of a log") from None
        _require(self.policy is None or self.policy.log == self.log, "a policy about the log")
        self.quorum = self.policy if self.policy and self.policy.quorum != "none" else None
        self._require_terms()
        self._require_agreement()
        self._require_mode()

    def needed(self, degree: int) -> int:
        """[K1]: T_u."""
        return int(self.terms.threshold_numerator * degree // self.terms.threshold_denominator) + 1

    def _require_terms(self) -> None:
        """The numbers of 03, [V32a], and their bounds."""
        t = self.terms
        box = t.dimension * t.steps**2
        bounds = (
            (3, t.parties, 2**20), (1, t.corrupt, t.parties - 2),
            (t.corrupt + 2, t.survivors, t.parties), (0, t.loss, t.parties - t.survivors),
            (1, t.k, t.parties - 1), (1, t.rounds, 10_000), (0, t.charged, 100),
            (t.charged + 1, t.attempts, 1000), (0, t.rounds * t.attempts, 65_535),
            (1, t.dimension, 2**20), (1, t.steps, 2**40),
            (box if t.dimension == 1 else 1, t.squared_sensitivity, box),
            (1 - t.mask, t.mask_deviation, 2**16 * (1 - t.mask)),
            (1, t.threshold_denominator, 65_535),
            (0, t.threshold_numerator, (t.threshold_denominator - 1) * (t.dimension == 1)),
            (0, self._most_neighbours(), MOST_NEIGHBOURS),
        )  # fmt: skip
        _require(all(low <= value <= high for low, value, high in bounds), "terms that agree")
        names = ("low", "high", "epsilon", "delta", "beta")
        low, high, epsilon, delta, beta = (_decimal(getattr(t, name)) for name in names)
        _require(low < high and 0 < epsilon <= 100, "a range and an epsilon")
        _require(Decimal("1e-20") <= delta < 1 and 0 <= beta < 1, "probabilities")

    def _require_agreement(self) -> None:
        """[S2]: beacon and admission."""
        said, t = self.said, self.terms
        if self.beacon == "test":
            _require(said.simulation, "test coins in a simulation only")
        else:
            _require(t.beacon == (self.beacon == "drand"), "the beacon of the terms")
        _require(self.beacon != "drand" or self.quorum is not None, "drand with a quorum")
        if said.admission.tag == "roster":
            keys = said.admission.keys
            _require(len(keys) == t.parties and said.organiser not in keys, "a roster of n parties")
            _require(keys == sorted(set(keys)), "a roster in increasing order")
        else:
            _require(t.survivors <= said.admission.most <= t.parties, "n_min to n parties")

    def _require_mode(self) -> None:
        """[S2], [Z2]: what mode, trust, noise and words owe each other."""
        said, t = self.said, self.terms
        _require(not said.weighted or t.dimension >= 2, "a coordinate besides the weight")
        if self.full:
            _require(not said.word_width and said.trust == MALICIOUS, "full mode without words")
            _require(t.dimension == 1 or self.vector, "noise from a table for single numbers")
            _require(not (self.recovers and self.vector), "recovery with noise from a table")
            noise, weighing = self._positions()
            _require(max(noise, weighing * said.weighted) <= 2**23, "vectors that fit one proof")
            return
        _require(8 <= said.word_width <= 64, "words of 8 to 64 bits")
        _require(self.curious == (t.mask == 0), "Gaussian masks exactly where parties are trusted")
        _require(not t.threshold_numerator, "no recovery of words")
        largest = t.parties * (t.steps + self.law.radius)
        largest += t.parties * t.k * 14 * t.mask_deviation
        _require(largest < 2 ** (said.word_width - 1), "words that hold the sum")

    # [S4]: how long the longest honest body is

    def _most_neighbours(self) -> int:
        return min(int(self.terms.parties) - 1, 4 * int(self.terms.k) + 64)

    def _positions(self) -> tuple[int, int]:
        """Bits and extension of the proof of noise, and of the proof of weighing."""
        d, v = self.terms.dimension, len(weights(self.terms.steps))
        if not self.vector:
            return table_bits(self.law, self.terms.steps), 0
        return (len(self.law.weights) + v) * d + d, (2 * d - 1) * v + d

    def largest(self, phase: int) -> int:
        """The longest body of an honest message of this phase; 0 where there is none."""
        t, width, degree = self.terms, self.said.word_width, self._most_neighbours()
        nonce = 32 * (self.beacon == "commit_reveal")
        if self.curious and phase in {ROLLBACK, CONFIRM, UNMASK}:
            return 0
        if phase == COMMIT:
            return self._largest_commit(degree)
        if phase == ORGANISER:
            return self._largest_control(t.parties, nonce)
        value = 32 * (t.dimension + 1) if self.full else -(-t.dimension * width // 8)
        sizes: dict[int, int] = {
            JOIN: 131 + nonce + 64 * self.full,
            COINS: 2 * nonce,
            ACCUSE: 71 + 96,
            PUBLISH: 37 + value,
            ROLLBACK: 35 + 36 * degree,
            CONFIRM: 32,
            UNMASK: 64,
            RECOVER: (35 + 68 * degree) * (t.threshold_numerator > 0),
        }
        return sizes[phase]

    def _largest_commit(self, degree: int) -> int:
        size = 78 + 32 * degree
        if not self.full:
            return size
        noise, weighing = self._positions()
        size += 32 + proof_size(length(noise))
        size += proof_size(length(weighing)) if self.said.weighted else 0
        dealt = 32 * (self.needed(degree) - 1) + 64 * degree
        return int(size + dealt * self.recovers)

    def _largest_control(self, n: int, nonce: int) -> int:
        bits, head = -(-n // 8), 43 + 1 + 65_535 * (self.quorum is not None)
        quoted = 2 * 96 if self.beacon == "drand" else n * nonce
        sizes: tuple[int, ...] = (
            43 + 1 + 4 + n * (65 + nonce) + 8,
            head + 3 + bits + 4 + quoted + 2,
            head + 3 + bits + 1,
            40 + 3 + 8 * self.terms.dimension + 3 + 6 * n + 4,
            40 + 2 + 3 + 4 * n,
        )
        return max(sizes)

    def most_chunks(self, phase: int) -> int:
        """How many entries the longest honest message takes."""
        return max(1, -(-self.largest(phase) // LARGEST_BODY))


def _require(holds: object, what: str) -> None:
    if not holds:
        raise Malformed(what)


def _decimal(data: bytes) -> Decimal:
    """A finite decimal number in its one spelling, of at most 40 digits."""
    try:
        value = Decimal(data.decode("ascii"))
    except (InvalidOperation, UnicodeDecodeError):
        raise Malformed("a decimal number") from None
    _require(value.is_finite() and Context(capitals=1).to_sci_string(value) == data.decode(), "it")
    _, digits, scale = value.as_tuple()
    exponent = int(scale) if value.is_zero() else value.adjusted()
    _require(len(digits) <= 40 and abs(exponent) <= 60, "a decimal number of at most 40 digits")
    return value
