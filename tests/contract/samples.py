"""Manifests and messages for tests: small, well-formed, of every kind."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Any

from bulletin_board.note import KeyKind, NoteSigner
from gopa.contract.beacon import QUICKNET
from gopa.contract.manifest import (
    VERSION,
    Admission,
    CommitReveal,
    DrandBeacon,
    Manifest,
    Mode,
    OpenAdmission,
    Path,
    Roster,
    TestCoins,
    Trust,
)
from gopa.contract.organiser import (
    Abort,
    AbortReason,
    Close,
    Coins,
    Members,
    Open,
    Released,
    Removal,
    RemovalCause,
    ResultMessage,
    Roll,
    RollEntry,
)
from gopa.contract.party import (
    About,
    Accusation,
    Commit,
    Confirm,
    EdgeOpenings,
    Join,
    OpenedEdge,
    Publish,
    Recover,
    RecoveredShare,
    Reveal,
    Unmask,
)
from gopa.contract.phases import Kind, Phase
from gopa.contract.rows import TESTS_SIZE, Prove, RowCommit, RowJoin, RowPublish
from gopa.contract.terms import Terms
from wire.ed25519 import SigningKey
from wire.secret import SecretBytes
from zkp.noise import GaussianTable, binomial

TABLE = GaussianTable.with_scale("1.5", bits=5, rows=7)
FLIPS = binomial(2)


def signing_key(name: str) -> SigningKey:
    """A key that depends on its name alone."""
    seed = hashlib.sha256(f"gopa tests/key {name}".encode()).digest()
    return SigningKey(SecretBytes(seed))


LOG = NoteSigner("tests.example/log", KeyKind.LOG, SecretBytes(b"\x01" * 32))
WITNESS = NoteSigner("tests.example/witness", KeyKind.WITNESS, SecretBytes(b"\x02" * 32))
POLICY = f"log {LOG.verifier}\nwitness w {WITNESS.verifier}\nquorum w\n".encode()


def roster(parties: int) -> Roster:
    keys = sorted(signing_key(f"party {number}").public.data for number in range(parties))
    return Roster(tuple(keys))


def terms(**changes: Any) -> Terms:
    """Terms for five parties with one number each."""
    values: dict[str, Any] = {
        "parties": 5,
        "corrupt": 1,
        "survivors": 3,
        "loss": 2,
        "k": 2,
        "dimension": 1,
        "low": Decimal(0),
        "high": Decimal(1),
        "steps": 20,
        "squared_sensitivity": 400,
        "noise": TABLE,
        "mask": "gaussian",
        "mask_deviation": 1000,
        "epsilon": Decimal("1.5"),
        "delta": Decimal("0.00001"),
        "beta": Decimal("0.000001"),
        "rounds": 2,
        "charged": 1,
        "attempts": 3,
        "beacon": "commit-reveal",
        "threshold_numerator": 0,
        "threshold_denominator": 1,
    }
    return Terms(**values | changes)


def manifest(session_terms: Terms | None = None, **changes: Any) -> Manifest:
    """A session in full mode over these terms, with a roster."""
    agreed = session_terms or terms()
    size = agreed.parties
    admission: Admission = roster(size) if size < 100 else OpenAdmission(size)
    values: dict[str, Any] = {
        "version": VERSION,
        "salt": b"\x07" * 32,
        "title": b"tests",
        "organiser": signing_key("organiser").public.data,
        "log": str(LOG.verifier).encode(),
        "policy": b"",
        "simulation": True,
        "mode": Mode.FULL,
        "path": Path.BITS,
        "trust": Trust.MALICIOUS,
        "terms": agreed,
        "weighted": False,
        "word_width": 0,
        "beacon": TestCoins(),
        "admission": admission,
        "max_rollbacks": 8,
    }
    return Manifest(**values | changes)


def vector_terms(dimension: int = 3, **changes: Any) -> Terms:
    """Terms for vectors, with noise from weighted bits."""
    values: dict[str, Any] = {
        "dimension": dimension,
        "noise": FLIPS,
        "mask": "uniform",
        "mask_deviation": 0,
        "squared_sensitivity": 400 * dimension,
    }
    return terms(**values | changes)


def signed_manifest(**changes: Any) -> Manifest:
    """A session of vectors in signed mode."""
    values: dict[str, Any] = {"mode": Mode.SIGNED, "word_width": 32}
    return manifest(vector_terms(), **values | changes)


def row_terms(dimension: int = 40, **changes: Any) -> Terms:
    """Terms for vectors that are proved row by row: lengths of up to 17 steps around the middle."""
    values: dict[str, Any] = {
        "noise": TABLE,
        "low": Decimal(-1),
        "steps": 32,
        "squared_sensitivity": 1200,
        "squared_norm": 300,
        "noise_square": 240,
        "spike": 9,
        "late": 2,
    }
    return vector_terms(dimension, **values | changes)


def row_manifest(session_terms: Terms | None = None, **changes: Any) -> Manifest:
    """A session of vectors that are proved row by row."""
    values: dict[str, Any] = {"path": Path.ROWS, "word_width": 16}
    return manifest(session_terms or row_terms(), **values | changes)


def h(number: int) -> bytes:
    """32 bytes that are easy to tell apart."""
    return bytes([number]) * 32


ROLL = Close(
    h(1),
    9,
    bytes(32),
    Phase.JOIN,
    b"",
    Roll((RollEntry(h(2), h(3), h(4)), RollEntry(h(5), h(6), h(7))), 0),
)
MESSAGES: dict[str, tuple[Kind, Any]] = {
    "open": (Kind.OPEN, Open(h(1), 3, 2)),
    "close of join": (Kind.CLOSE, ROLL),
    "close of join with a round of the beacon": (
        Kind.CLOSE,
        Close(h(1), 9, bytes(32), Phase.JOIN, b"", Roll((RollEntry(h(2), h(3), b""),), 4_242_424)),
    ),
    "close of coins": (
        Kind.CLOSE,
        Close(h(1), 12, bytes(32), Phase.COINS, b"", Coins(b"\x05", (h(8), h(9)), b"", b"")),
    ),
    "close of coins with a beacon": (
        Kind.CLOSE,
        Close(h(1), 12, bytes(32), Phase.COINS, b"note\n", Coins(b"\x07", (), b"\x0a" * 48, b"")),
    ),
    "close of commit": (
        Kind.CLOSE,
        Close(h(1), 20, bytes(32), Phase.COMMIT, b"", Members(b"\x1f\x01", final=False)),
    ),
    "final close": (
        Kind.CLOSE,
        Close(h(1), 2**40, bytes(32), Phase.ROLLBACK, b"note\n", Members(b"\x1d", final=True)),
    ),
    "result": (
        Kind.RESULT,
        ResultMessage(
            h(1), 44, (-5, 2**61), (Removal(1, Phase.PUBLISH, RemovalCause.ABSENT),), 1, 2
        ),
    ),
    "abort": (Kind.ABORT, Abort(h(1), 44, AbortReason.NOT_CONFIRMED, Released.NONE, (0, 3))),
    "join": (Kind.JOIN, Join(h(1), h(2), b"\x03" * 64, h(4), h(5), h(6))),
    "join in signed mode": (Kind.JOIN, Join(h(1), h(2), b"\x03" * 64, b"", b"", b"")),
    "reveal": (Kind.REVEAL, Reveal(h(1), h(2))),
    "commit": (
        Kind.COMMIT,
        Commit(h(1), (h(2), h(3)), h(4), (h(6),), (b"\x07" * 64,) * 2, h(5), b"proof", b"weighing"),
    ),
    "commit in signed mode": (
        Kind.COMMIT,
        Commit(h(1), (h(2), h(3)), h(4), (), (), b"", b"", b""),
    ),
    "accusation": (Kind.ACCUSATION, Accusation(h(1), About.SHARE, 7, h(2), b"\x03" * 96)),
    "publish": (Kind.PUBLISH, Publish(h(1), h(2), h(3))),
    "publish in signed mode": (Kind.PUBLISH, Publish(h(1), b"\x01\x02\x03", b"")),
    "opening": (Kind.OPENING, EdgeOpenings(h(1), (OpenedEdge(1, h(2)), OpenedEdge(70_000, h(3))))),
    "confirm": (Kind.CONFIRM, Confirm(h(1))),
    "unmask": (Kind.UNMASK, Unmask(h(1), h(2))),
    "recover": (Kind.RECOVER, Recover(h(1), (RecoveredShare(4, b"\x05" * 64),))),
    "prove": (Kind.PROVE, Prove(h(1), (h(2), h(3)), h(4), b"\x05" * TESTS_SIZE, b"proof")),
}
"""One message of each kind at least, by name."""

ROW_MESSAGES: dict[str, tuple[Kind, Any]] = {
    "long join": (
        Kind.JOIN,
        RowJoin(h(1), h(2), b"\x03" * 64, h(4), (h(5), h(6)), (h(7), h(8)), (h(9),) * 12),
    ),
    "long commit": (
        Kind.COMMIT,
        RowCommit(
            h(1), (h(2), h(3)), h(4), (h(6),), (b"\x07" * 64,) * 2, b"\x05" * TESTS_SIZE, b"proof"
        ),
    ),
    "long publish": (
        Kind.PUBLISH,
        RowPublish(h(1), b"\x01\x02\x03", (h(2), h(3)), (h(4),) * 12),
    ),
}
"""Those of kinds that have another body where vectors are proved row by row."""


def manifests() -> dict[str, Manifest]:
    """Sessions of every kind."""
    threshold = {"threshold_numerator": 1, "threshold_denominator": 2}
    opened = OpenAdmission(4)
    return {
        "full": manifest(),
        "full with commit-reveal and recovery": manifest(
            terms(**threshold), beacon=CommitReveal(), simulation=False, title=b""
        ),
        "full with drand and witnesses": manifest(
            terms(beacon="drand"), beacon=DrandBeacon(QUICKNET), policy=POLICY, simulation=False
        ),
        "vectors": manifest(vector_terms()),
        "vectors under weights": manifest(vector_terms(), weighted=True, max_rollbacks=0),
        "signed": signed_manifest(admission=opened),
        "honest but curious": manifest(
            vector_terms(mask="gaussian", mask_deviation=3),
            mode=Mode.SIGNED,
            word_width=64,
            trust=Trust.HONEST_BUT_CURIOUS,
        ),
        "rows": row_manifest(),
        "rows under weights": row_manifest(
            row_terms(squared_norm=2000, squared_sensitivity=6000, weight_length=1, weight_scale=2),
            weighted=True,
        ),
    }
