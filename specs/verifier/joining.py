"""From the close of join to that of commit: sections 4 to 6 of 04, graph (03) and coins (09)."""

from __future__ import annotations

from hashlib import sha256, shake_128
from typing import Any

from curve import are_points
from manifest import needed
from proving import lengths_proved
from proofs import bit_noise_holds, range_holds, same_logarithm, table_noise_holds, weighing_holds
from rounds import (
    due_abort, due_close, index, party_id, peel, read_join, refuse, sort, transcript,
)  # fmt: skip
from codec import Record, require


class Outside(Exception):
    """What this program does not check: beacons of drand."""


def beacon(name: bytes, *fields: bytes) -> bytes:
    """F of 09-D13."""
    label = b"gopa/v1/beacon/" + name
    return bytes([len(label)]) + label + b"".join(fields)


def hashed(name: bytes, *fields: bytes) -> bytes:
    """H of 09-D13."""
    return sha256(beacon(name, *fields)).digest()


def choices(seed: bytes, u: int, n: int, k: int) -> set[int]:
    """03-V1."""
    stream = shake_128(b"gopa/v1/protocol/graph" + seed + u.to_bytes(4) + n.to_bytes(4))
    chosen: set[int] = set()
    data, at = b"", 0
    while len(chosen) < k:
        if at == len(data):
            data = stream.digest(2 * at + 1024)
        word, at = int.from_bytes(data[at : at + 8]), at + 8
        if word < 2**64 - 2**64 % (n - 1):
            v = word % (n - 1)
            chosen.add(v + (v >= u))
    return chosen


def join_due(r: Record, cut: int) -> Record:
    """04-J1 to 04-J7: the roll."""
    early = [u for number, phase, u in r.early if (number, phase) == (r.number, "join")]
    posted = {u: message.index for (_, u), message in r.inbox.items()}
    below = {u for u in (*early, *posted) if posted.get(u, -1) < cut}
    read = sort(r, cut, below, "04-J2", read_join)
    refuse(r, read, "04-X5", lambda u: u in r.barred, fault=False)
    refuse(r, read, "04-J3", lambda u: not same_logarithm(
        transcript(r, b"possession", u), [(None, read[u].key)], read[u].possession))  # fmt: skip
    keys = [join.key for join in read.values()]
    refuse(r, read, "04-J4", lambda u: keys.count(read[u].key) > 1)
    refuse(r, read, "04-J5", lambda u: read[u].input != r.inputs.get(u, read[u].input))
    first = {u: r.seeds.get(join.seed, (index(r, u), u)) for u, join in read.items()}
    again = {u for u in read if first[u][0] != index(r, u)}
    refuse(r, read, "04-J5", lambda u: u in again and first[u][1] == u)
    refuse(r, read, "04-J5", lambda u: u in again, fault=False)
    room = sorted(read, key=lambda u: index(r, u))[: getattr(r.manifest.admission, "most", None)]
    refuse(r, read, "04-J1", lambda u: u not in room, fault=False)
    if len(read) < r.terms.survivors:
        return due_abort(r, "too_few_joined")
    r.roll = sorted(read)  # 04-J6
    r.place = {u: at for at, u in enumerate(r.roll)}
    r.parties = {u: read[u].changed(id=party_id(u)) for u in r.roll}
    r.inputs = {u: read[u].input for u in r.roll} | r.inputs
    rows = [Record(author=u, key=read[u].key, nonce_hash=read[u].nonce_hash) for u in r.roll]
    named = {} if r.manifest.beacon.tag == "drand" else {"beacon_round": 0}  # 04-J7
    r.next, r.members = "coins", r.roll
    return Record(kind="close", phase="join", parties=rows, **named)


def coins_due(r: Record, cut: int) -> Record:
    """04-V1, 04-V3, 04-L3: who revealed, and what."""
    if r.manifest.beacon.tag == "drand":
        raise Outside("coins of drand are not checked here")
    nonces: dict[bytes, bytes] = {}
    members, roll_leaf = r.roll, r.opened.leaf
    r.joint = hashed(b"simulation-coins", r.tag, roll_leaf)  # 04-V5
    if r.manifest.beacon.tag == "commit_reveal":
        nonces = sort(r, cut, r.roll, "04-V1", _read_reveal)
        members = list(nonces)
        r.withheld = len(r.roll) - len(members)
        if r.withheld > r.terms.loss:  # 04-L3
            return due_abort(r, "too_many_withheld")
        if len(members) < r.terms.survivors:
            return due_abort(r, "too_few_left")
        count = len(nonces).to_bytes(4)
        r.joint = hashed(b"joint-coins", r.tag, roll_leaf, count, *nonces.values())  # 04-V3
    seeds = dict.fromkeys(members, hashed(b"graph-seed", r.joint))
    for u, nonce in nonces.items():  # 04-V2; 09-D15 and 09-D19
        seeds[u] = hashed(b"choices", r.tag, roll_leaf, nonce)
    r.graph = _drawn(r, seeds)
    said = list(nonces.values())
    return due_close(r, "commit", members, nonces=said, signature=b"", previous=b"")


def _read_reveal(r: Record, author: bytes, said: Record) -> Any:
    """04-V1."""
    party = r.parties[author]
    require(hashed(b"reveal-hash", r.tag, party.id, said.nonce) == party.nonce_hash)
    return said.nonce


def _drawn(r: Record, seeds: dict[bytes, bytes]) -> dict[bytes, set[bytes]]:
    """04-V2: the graph."""
    n, graph = len(r.roll), {u: set[bytes]() for u in r.roll}
    for u, seed in seeds.items():
        for at in choices(seed, r.place[u], n, min(r.terms.k, n - 1)):
            if r.roll[at] in seeds:
                graph[u].add(r.roll[at])
                graph[r.roll[at]].add(u)
    return graph


def commit_due(r: Record, cut: int) -> Record:
    """04-K4."""
    read = sort(r, cut, r.members, "04-K1", _read_commit, "04-K4")
    members = peel(r, read)
    if len(members) < r.terms.survivors:
        return due_abort(r, "too_few_left")
    r.commits, r.edges, r.live = {u: read[u] for u in members}, {}, {}
    for u in members:  # 04-K5: what both ends posted
        for v, mine in zip(sorted(r.graph[u]), read[u].edges, strict=True):
            if u < v and v in r.commits:
                theirs = read[v].edges[sorted(r.graph[v]).index(u)]
                r.edges[u, v] = mine, theirs
                if mine == theirs and (not r.manifest.bits or are_points(mine)):
                    r.live[u, v] = mine
    return due_close(r, "publish", members)


def _read_commit(r: Record, author: bytes, made: Record) -> Record:
    """04-K1, 04-K6, 04-K2, 04-K3."""
    m, degree = r.manifest, len(r.graph[author])
    if m.rows:
        made = made.changed(output=b"", weighing=b"")
    sizes = len(made.edges), len(made.coefficients), len(made.shares), len(made.output)
    dealt = (needed(m, degree) - 1 + m.seeds, degree) if m.recovers and degree else (0, 0)
    require(sizes == (degree, *dealt, 32 * (m.bits and not m.exact)), "04-K1")
    require(m.rows or bool(made.proof) == m.full, "04-K1")
    require(bool(made.weighing) == (m.bits and m.weighted), "04-K6")
    require(not m.curious or made.self_mask == bytes(32), "04-K1")
    if m.bits and m.exact:  # 04-P1: without noise D_u is C_x
        made = made.changed(output=r.parties[author].input)
    points = [made.self_mask, made.output] if m.bits else []
    require(are_points(*points, *made.coefficients), "04-K2")
    require(not m.bits or _proved(r, author, made), "04-K3")
    require(not m.rows or lengths_proved(r, author, made), "14-P3")
    own = [] if m.seeds else [made.self_mask]
    return made.changed(dealt=[*own, *made.coefficients])  # C_0 .. C_(T-1)


def _proved(r: Record, author: bytes, made: Record) -> Any:
    """04-K3, 04-V6 and 04-K6."""
    m, party = r.manifest, r.parties[author]
    drawn, points = r.joint + r.tag + party.id, (party.input, party.seed, made.output)
    script = transcript(r, b"input-and-noise", author)
    about = r.terms.steps, points, made.proof
    d = r.terms.dimension
    if m.exact:
        script = transcript(r, b"exact-input", author)
        if not range_holds(script, d, r.terms.steps, party.input, made.proof, vector=m.vector):
            return False
        script = transcript(r, b"weighing", author)
        own = party.input, made.weighing
        return not m.weighted or weighing_holds(script, d, r.terms.steps, *own)
    if not m.vector:
        bits = m.law.T.bit_length() - 1
        stream = shake_128(beacon(b"draw-coin", drawn, bytes(4), bytes([bits])))
        coin = int.from_bytes(stream.digest(8)) >> 64 - bits  # 09-D20
        return table_noise_holds(script, m.law, coin, *about)
    count = d * len(m.law.weights)
    data = shake_128(beacon(b"flip-coins", drawn, count.to_bytes(4))).digest(-(-count // 8))
    coins = [data[i // 8] >> 7 - i % 8 & 1 for i in range(count)]  # 09-D21
    if not bit_noise_holds(script, m.law, coins, *about):
        return False
    script = transcript(r, b"weighing", author)
    return not m.weighted or weighing_holds(script, d, r.terms.steps, party.input, made.weighing)
