"""A whole session of honest parties, made in bulk and written as an archive.

Every proof in it is its party's own: proofs are bound to session, close and party. What is
saved against a simulation is that nobody checks what everybody knows to be right: each
party of a real session reads all nonces and its neighbours' messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from bench.audit_parties import Part, Turn, public_keys, say
from bench.measure import require
from bulletin_board import Checkpoint, KeyKind, NoteSigner, Submission
from bulletin_board.archive import HEADER, MAGIC, ArchiveHeader
from bulletin_board.note import sign_note
from bulletin_board.tree import RightEdge, encode_bundle
from commitments import Pedersen
from commitments.group import Group, SecretScalarVec
from gopa.contract.framing import Posted, party_id
from gopa.contract.manifest import OpenAdmission
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.graph import Graph
from gopa.protocol.organiser import (
    Organiser,
    PhaseOver,
    Seen,
    SendMessage,
    SessionSetting,
    new_manifest,
)
from gopa.protocol.rules.view import RoundPicture
from gopa.protocol.simulation.randomness import SeededStreams
from gopa.rounds.context import RoundContext
from gopa.rounds.proofs import NoiseClaim, PossessionClaim
from gopa.rounds.real_proofs import RealProofs
from gopa.rounds.toolkit import Toolkit
from wire.ed25519 import SigningKey
from wire.randomness import Rng, draw
from wire.secret import SecretBytes

_TASK: Final = 250
_BUNDLE: Final = 256
_EDGES: Final = 1 << 16
_SIZE: Final = 32


class _OwnProofs(RealProofs):
    """The organiser of a session in bulk takes proofs for right: it has just had them made."""

    def bad_possessions(
        self, claims: Sequence[PossessionClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        del claims, rng, executor
        return frozenset()

    def bad_noises(
        self, claims: Sequence[NoiseClaim], rng: Rng, executor: Executor | None = None
    ) -> frozenset[int]:
        del claims, rng, executor
        return frozenset()


@dataclass(slots=True)
class _Log:
    """A log in memory, and the organiser that follows it."""

    organiser: Organiser
    raws: list[bytes] = field(default_factory=list)
    edge: RightEdge = field(default_factory=RightEdge)

    def post(self, raws: Sequence[bytes]) -> list[bytes]:
        """Append entries; their leaves."""
        leaves = []
        for raw in raws:
            submission = Submission.decode(raw)
            self.organiser.step(Posted(len(self.raws), submission.leaf, submission.entry))
            self.raws.append(raw)
            leaves.append(submission.leaf)
        self.edge.extend(leaves)
        return leaves

    def end_phase(self) -> RoundPicture:
        """The organiser's next message; where the round stands then."""
        self.organiser.step(Seen(self.edge.size, self.edge.root()))
        for output in self.organiser.step(PhaseOver(self.edge.size)):
            if isinstance(output, SendMessage):
                self.post(output.entries)
        found = self.organiser.state.round
        require(found is not None, "the organiser opens no round")
        assert found is not None
        return found


@dataclass(slots=True)
class _Masks:
    """Masks of all edges, drawn at random, as the parties' messages need them."""

    graph: Graph
    values: SecretScalarVec
    blindings: SecretScalarVec
    encodings: bytes
    edges: np.ndarray[tuple[int], np.dtype[np.int64]]
    signs: np.ndarray[tuple[int], np.dtype[np.int64]]

    def posted(self, position: int) -> bytes:
        """The commitments of the edges of a party, in the order of its neighbours."""
        first, last = self.graph.offsets[position : position + 2]
        encodings = self.encodings
        return b"".join(
            encodings[_SIZE * at : _SIZE * at + _SIZE] for at in self.edges[first:last].tolist()
        )

    def summed(self, position: int, group: Group) -> bytes:
        """The sum of its masks and that of their blindings."""
        first, last = self.graph.offsets[position : position + 2]
        edges = self.edges[first:last].tolist()
        signs = group.scalars(self.signs[first:last].tolist())
        rows = (self.values, self.blindings)
        return b"".join(row.gather(edges).inner(signs).reveal().to_bytes() for row in rows)


def write_session(terms: Terms, out: BinaryIO, *, seed: bytes, jobs: int) -> None:
    """Play one round of as many honest parties as the terms have, and archive its log."""
    with ProcessPoolExecutor(jobs) as pool:
        streams, numbers = SeededStreams(seed), range(terms.parties)
        tasks = [numbers[at : at + _TASK] for at in range(0, terms.parties, _TASK)]
        found = pool.map(partial(public_keys, seed), tasks)
        authors = [key for keys in found for key in keys]
        order = sorted(numbers, key=authors.__getitem__)
        key = SigningKey.generate(streams.named("organiser"))
        signer = NoteSigner(
            "log.bench", KeyKind.LOG, SecretBytes(draw(streams.named("log"), _SIZE))
        )
        manifest = new_manifest(
            terms,
            authors,
            organiser=key.public.data,
            log=signer.verifier,
            rng=streams.named("salt"),
            setting=SessionSetting(simulation=True),
        )
        toolkit = Toolkit(proofs=_OwnProofs())
        organiser = Organiser(manifest, key, rng=streams.named("checks"), toolkit=toolkit)
        log = _Log(organiser)
        (start,) = organiser.start()
        log.post(start.entries if isinstance(start, SendMessage) else ())
        # Workers need no roster, which is most of a large manifest; the session's id is given.
        open_to_all = replace(manifest, admission=OpenAdmission(terms.parties))
        context = RoundContext(open_to_all, manifest.session, 1, toolkit.group)
        turn = Turn(seed, context, Phase.JOIN, b"", 0, b"", b"")
        _play(log, turn, order, [party_id(authors[number]) for number in order], pool)
        require(organiser.state.over, "the session does not end")
    _write_archive(log, signer, manifest.session, out)


def _play(
    log: _Log, turn: Turn, order: Sequence[int], ids: Sequence[bytes], pool: Executor
) -> None:
    leaves = [bytes(_SIZE)] * len(order)
    masks: _Masks | None = None
    while (current := log.end_phase()).opens is not None:
        turn = replace(
            turn,
            phase=current.opens,
            acts_on=current.acts_on,
            seen_size=log.edge.size,
            seen_root=log.edge.root(),
            joint=current.joint,
        )
        masked: Callable[[int], bytes] = _nothing
        if current.opens is Phase.COMMIT:
            require(current.graph is not None, "there is no graph")
            assert current.graph is not None
            rng = SeededStreams(turn.seed).named("masks")
            masks = _drawn(current.graph, ids, turn.context.group, rng)
            masked = masks.posted
        elif current.opens is Phase.PUBLISH and masks is not None:
            masked = partial(masks.summed, group=turn.context.group)
        parts = (
            Part(number, leaf, masked(position))
            for position, (number, leaf) in enumerate(zip(order, leaves, strict=True))
        )
        leaves = log.post(list(_said(turn, parts, pool)))


def _nothing(position: int) -> bytes:
    del position
    return b""


def _said(turn: Turn, parts: Iterator[Part], pool: Executor) -> Iterator[bytes]:
    every = list(parts)
    tasks = [every[at : at + _TASK] for at in range(0, len(every), _TASK)]
    for entries in pool.map(partial(say, turn), tasks):
        yield from entries


def _drawn(graph: Graph, ids: Sequence[bytes], group: Group, rng: Rng) -> _Masks:
    """A mask for each edge; the end with the smaller id adds it, the other takes it away."""
    low, high = graph.edges()
    values, blindings = group.secret_scalars([]), group.secret_scalars([])
    encodings = []
    for at in range(0, len(low), _EDGES):
        count = min(_EDGES, len(low) - at)
        some, blinds = group.random_scalars(count, rng), group.random_scalars(count, rng)
        encodings.append(Pedersen(group).commit(some, blinds).to_bytes())
        values, blindings = values.concat(some), blindings.concat(blinds)
    rank = np.empty(len(ids), dtype=np.int64)
    rank[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    source = np.repeat(np.arange(graph.parties), graph.degrees)
    target = graph.targets.astype(np.int64)
    codes = low * graph.parties + high
    both = np.minimum(source, target) * graph.parties + np.maximum(source, target)
    signs = np.where(rank[source] < rank[target], 1, -1)
    edges = np.searchsorted(codes, both)
    return _Masks(graph, values, blindings, b"".join(encodings), edges, signs)


def _write_archive(log: _Log, signer: NoteSigner, session: bytes, out: BinaryIO) -> None:
    checkpoint = Checkpoint(signer.verifier.name, len(log.raws), log.edge.root())
    note = sign_note(checkpoint.to_text(), signer).to_bytes()
    digest = hashlib.sha256(MAGIC)
    out.write(MAGIC)

    def part(content: bytes) -> None:
        framed = len(content).to_bytes(4) + content
        digest.update(framed)
        out.write(framed)

    part(HEADER.encode(ArchiveHeader(session, signer.verifier.name.encode())))
    part(note)
    for at in range(0, len(log.raws), _BUNDLE):
        part(encode_bundle(log.raws[at : at + _BUNDLE]))
    out.write(digest.digest())


def made_session(terms: Terms, path: Path, *, seed: bytes, jobs: int) -> None:
    """`write_session` into a file that is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as out:
        write_session(terms, out, seed=seed, jobs=jobs)
    unfinished.rename(path)
