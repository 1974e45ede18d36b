"""Long vectors in a round: 14, sections 2 and 10. What is proved of inputs, words and masks."""

from __future__ import annotations

from hashlib import sha256

from codec import Record, require
from curve import are_points
from row_coins import (
    Equations, carry_tests, count_of_points, equation_points, input_tests, signed_permutation,
)  # fmt: skip
from row_proofs import Edges, Words, lengths_hold, masks_hold
from masks import unpack
from rounds import (
    Out, Verdict, crossing, due_abort, due_close, due_list, fault, index, pair_of, party_at,
    peel, require_rows, sign, sort, transcript,
)  # fmt: skip

LOST = Verdict("lost", "04-L2")


def lengths_proved(r: Record, author: bytes, made: Record) -> bool:
    """14-P3."""
    m, party = r.manifest, r.parties[author]
    if not r.coins:  # on the copy of the round
        r.coins = [input_tests(r.joint, r.tag, m.shape)]
    vectors = [party.input, party.noise, party.pads]
    script = transcript(r, b"long-input", author)
    given = m.bounds, m.weight, vectors, made.tests, r.coins[0], made.proof
    return bool(lengths_hold(script, m.shape, *given))


def read_words(r: Record, _: bytes, said: Record) -> Record:
    """14-P4: what is well-formed."""
    m = r.manifest
    words = unpack(said.value, m.terms.dimension, m.word_width)
    require_rows((said.carries, m.shape.h), (said.pads, m.shape.pads))
    return said.changed(words=words)


def words_due(r: Record, read: dict[bytes, Record]) -> Record:
    """14-P5: the close of publish lists whose words are well-formed."""
    members = peel(r, read)
    r.published = {u: read[u] for u in members}
    r.values = {u: read[u].words for u in members}
    if len(members) < r.terms.survivors:
        return due_abort(r, "too_few_left")
    return due_close(r, "prove", members)


def prove_due(r: Record, cut: int) -> Record:
    """14-P6, 14-P8."""
    m, leaf, n = r.manifest, r.opened.leaf, len(r.members)
    r.spare = min(n - r.terms.survivors, r.terms.late)
    z = equation_points(r.tag, leaf, count_of_points(m.shape.v, n, r.spare), m.shape.v)
    r.equations = Equations(r.masks, leaf, z)
    r.tests = carry_tests(r.tag, leaf, m.shape)
    read = sort(r, cut, r.members, "14-P6", _read_proof, "14-P8")
    r.proofs = dict(read)
    members = peel(r, read)
    kept = set(members)
    r.disputed = {(u, v) for u, v in r.live
                  if {u, v} <= kept and posted(r, u, v) != posted(r, v, u)}  # fmt: skip
    return list_due(r, members, final=not r.disputed and not any(crossing(r, members)))


def list_due(r: Record, members: list[bytes], *, final: bool) -> Record:
    """14-P11, then as in 04."""
    if r.manifest.rows and len(r.published) - len(members) > r.spare:
        return due_abort(r, "too_few_left")
    return due_list(r, members, final=final)


def posted(r: Record, u: bytes, v: bytes) -> bytes:
    """What u posted as M_uv."""
    return bytes(r.proofs[u].edges[sorted(r.graph[u]).index(v)])


def _read_proof(r: Record, author: bytes, said: Record) -> Record:
    """14-P6, 14-K4."""
    m, published, joined = r.manifest, r.published[author], r.parties[author]
    neighbours = sorted(r.graph[author])
    require(len(said.edges) == len(neighbours) and are_points(said.self_mask))
    pairs = list(zip(neighbours, said.edges, strict=True))
    live = [(v, M) for v, M in pairs if pair_of(author, v) in r.live]
    require(all(bytes(32) == M for v, M in pairs if pair_of(author, v) not in r.live))
    require(are_points(*(M for _, M in live)))
    edges = Edges(
        [r.place[v] for v, _ in live],
        [sign(r, author, v) for v, _ in live],
        [M for _, M in live],
        said.self_mask,
    )
    moved = signed_permutation(r.joint, r.tag, joined.id, m.terms.dimension)
    digest = sha256(published.value).digest()
    words = Words(published.words, m.word_width, digest, *moved)
    vectors = [joined.input, joined.noise, published.carries, published.pads]
    given = r.equations.z, vectors, edges, said.tests, r.tests, said.proof
    require(masks_hold(transcript(r, b"long-masks", author), m.shape, words, *given))
    return said.changed(entry=index(r, author))


def edge_follows(r: Record, u: bytes, v: bytes, key: bytes) -> bool:
    """14-P9: whether what u posted about the edge follows from this key."""
    made = r.equations.edge(key, r.parties[u].id, r.parties[v].id)
    return bool(posted(r, u, v) == made)


def seed_follows(r: Record, u: bytes, seed: bytes) -> bool:
    """14-P10."""
    return bool(r.proofs[u].self_mask == r.equations.own(seed, r.parties[u].id))


def convict(r: Record, u: bytes, *shown: int) -> None:
    """14-K6: a false commitment; once is enough."""
    if u not in r.convicted:
        evidence = r.inbox["commit", u].index, r.proofs[u].entry, *shown
        r.faults = [*r.faults, fault(r, "14-K6", u, *evidence)]
        r.convicted = r.convicted | {u}


def convicted_by_keys(r: Record, openings: dict[bytes, tuple[int, list[Record]]]) -> Out:
    """14-K6: the keys in openings that count, against what both ends posted."""
    guilty = set[bytes]()
    for u, (at, edges) in sorted(openings.items(), key=lambda each: each[1][0]):
        for each in edges:
            guilty |= _liars(r, u, at, each)
    out = {u for u in guilty.intersection(r.members) if r.out.get(u, LOST).cause != "struck"}
    return {u: Verdict("convicted", "14-K6") for u in out}


def _liars(r: Record, author: bytes, at: int, opened: Record) -> set[bytes]:
    """The ends of an edge of which its key, if it is that of the hash, shows a false M."""
    ends = pair_of(author, party_at(r, opened.neighbour))
    hashed = ends in r.live and r.masks.edge_hash(opened.key, *(r.parties[u].id for u in ends))
    if not hashed or r.live[ends] != hashed:
        return set()
    guilty = {u for u, v in (ends, ends[::-1])
              if u in r.proofs and not edge_follows(r, u, v, opened.key)}  # fmt: skip
    for u in sorted(guilty):
        convict(r, u, at)
    return guilty
