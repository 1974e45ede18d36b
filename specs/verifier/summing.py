"""From accusations to the result: sections 7 to 12 of 04."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from curve import Q, are_points, decode_point, decode_scalar, multi, same
from joining import coins_due, commit_due, join_due
from manifest import needed
from masks import combine, share_fits, unpack
from proofs import commit, same_logarithm
from proving import (
    convict, convicted_by_keys, edge_follows, list_due, prove_due, read_words, seed_follows,
    words_due,
)  # fmt: skip
from rounds import (
    Fault, Out, Pair, Verdict, blamed, crossing, due_abort, due_close, fault, index, is_struck,
    judge, losing, pair_of, party_at, peel, refuse, releases, sign, sort, transcript,
)  # fmt: skip
from codec import Record, Wrong, decode, require


def _convict(r: Record, accusations: list[Record]) -> Out:
    """04-A1 to 04-A5: the first conviction of everybody, in the order of the log."""
    found: Out = {}
    for message in sorted(accusations, key=lambda each: int(each.index)):
        for author, rule in _hear(r, message):
            found.setdefault(author, Verdict("convicted", rule, message.index, True))
    return found


def _hear(r: Record, message: Record) -> list[tuple[bytes, str]]:
    """Who is convicted by one accusation, and by which rule."""
    u, close = message.author, r.closes["commit"]
    said = judge(r, message, "accuse", close, "04-A1")
    if isinstance(said, Verdict):
        return [(u, said.rule)] if said.fault else []
    v, about_edge = party_at(r, said.accused), said.about == "edge"
    pair = pair_of(u, v)
    is_void = pair in r.edges and pair not in r.live
    if pair not in r.edges or not (is_void if about_edge else r.manifest.recovers):
        return [(u, "04-A1")]
    script = transcript(r, b"shared-key", u, close.leaf)
    pairs = [(None, r.parties[u].key), (r.parties[v].key, said.shared)]
    if not are_points(said.shared) or not same_logarithm(script, pairs, said.proof):
        return [(u, "04-A2")]
    ids = r.parties[u].id, r.parties[v].id
    if about_edge:
        key = r.masks.edge_key(said.shared, *ids)
        posted = zip(pair, r.edges[pair], strict=True)
        return [(each, "04-A3") for each, data in posted if not _makes(r, key, pair, data)]
    sealed = r.commits[v].shares[sorted(r.graph[v]).index(u)]
    share = r.masks.open_share(sealed, said.shared, ids[1], ids[0])
    fits = share_fits(share, r.place[u] + 1, r.commits[v].dealt)
    return [(u, "04-A5") if fits else (v, "04-A4")]


def _makes(r: Record, key: bytes, pair: Pair, data: bytes) -> bool:
    """04-O2, 04-A3: whether these are the bytes that follow from the key of the edge."""
    if not r.manifest.bits:
        return bool(data == r.masks.edge_hash(key, *(r.parties[u].id for u in pair)))
    point = commit(*r.masks.edge(key), vector=r.manifest.vector)
    return bool(are_points(data)) and same(point, decode_point(data))


def publish_due(r: Record, cut: int) -> Record:
    """04-P2, 04-P3."""
    read_value = read_words if r.manifest.rows else _read_value
    read = sort(r, cut, r.members, "04-P2", read_value)
    convicted = _convict(r, [each for each in r.many if each.index < cut])
    r.faults = r.faults + blamed(r, convicted)
    for u in convicted.keys() & set(r.members):  # 04-A5
        read.pop(u, None)
        if u not in r.out or r.out[u].cause != "struck":
            r.out[u] = convicted[u]
    if r.manifest.rows:
        return words_due(r, read)
    refuse(r, read, "04-P1", lambda u: not _opens(r, u, *read[u]))
    members = peel(r, read)
    r.values = {u: read[u][0] for u in members}
    return list_due(r, members, final=r.manifest.curious or not any(crossing(r, members)))


def _read_value(r: Record, _: bytes, said: Record) -> tuple[list[int], int]:
    """Section 8: the value as numbers, and the blinding."""
    d = r.terms.dimension
    if not r.manifest.full:
        require(not said.blinding)
        return unpack(said.value, d, r.manifest.word_width), 0
    values = [said.value[at : at + 32] for at in range(0, len(said.value), 32)]
    require(len(values) == d)
    return [decode_scalar(each) for each in values], decode_scalar(said.blinding)


def _opens(r: Record, u: bytes, values: list[int], blinding: int) -> bool:
    """04-P1."""
    if not r.manifest.full:
        return True
    terms = [(1, r.commits[u].output), (1, r.commits[u].self_mask)]
    terms += [(sign(r, u, v), r.live[pair]) for v in r.graph[u]
              if (pair := pair_of(u, v)) in r.live]  # fmt: skip
    total = multi((sign, decode_point(each)) for sign, each in terms)
    return same(total, commit(values, blinding, vector=r.manifest.vector))


def rollback_due(r: Record, cut: int) -> Record:
    """04-O1 to 04-O3; 14-P9."""
    owed = _owed(r)
    shown: dict[bytes, Any] = {}

    def read(r: Record, u: bytes, said: Record) -> dict[Pair, bytes]:
        debts = [r.place[v] for v in sorted(owed[u])]
        require([each.neighbour for each in said.edges] == debts, "04-O1")
        shown[u] = said.edges
        require(all(_opened(r, u, each) for each in said.edges), "04-O2")
        return {pair_of(u, r.roll[each.neighbour]): each.key for each in said.edges}

    heard: dict[bytes, Any] = {}  # 04-E2: of each the first that acts on the close before
    for message in [each for each in r.many if each.index < cut and each.author in owed]:
        if message.author in heard:
            continue
        said = judge(r, message, "rollback", r.opened, "04-O1", read)
        if not isinstance(said, Verdict) or said.rule != "04-E4":
            heard[message.author] = message, said
    r.out, stray = {}, list(r.many)
    for u in r.members:
        message, said = heard.get(u, (None, Verdict("absent", "04-O3") if owed[u] else {}))
        if isinstance(said, Verdict):
            r.out[u] = said
        if not is_struck(r, u, cut) and message and u not in r.out:
            stray.remove(message)
            r.keys = r.keys | said
    if r.manifest.rows:
        struck = {u for u in r.out if r.out[u].cause == "struck"}
        counted = {u: (heard[u][0].index, shown[u]) for u in shown.keys() - struck}
        r.out = r.out | convicted_by_keys(r, counted)
    members, r.stray = peel(r, set(r.members) - r.out.keys()), r.stray + stray
    return list_due(r, members, final=members == r.members)


def _owed(r: Record) -> dict[bytes, list[bytes]]:
    """04-O1; 14-P9: in the first step also both ends of a disputed edge."""
    owed: dict[bytes, list[bytes]] = {u: [] for u in r.members}
    first = [each for pair in r.disputed for each in (pair, pair[::-1])] if r.step == 1 else []
    for u, v in (*crossing(r, r.members), *first):
        if pair_of(u, v) not in r.keys:
            owed[u].append(v)
    return owed


def _is_right(r: Record, u: bytes, edge: Record) -> bool:
    """04-O2: the key of a live edge."""
    pair = pair_of(u, party_at(r, edge.neighbour))
    return pair in r.live and _makes(r, edge.key, pair, r.live[pair])


def _opened(r: Record, u: bytes, edge: Record) -> bool:
    """04-O2; 14-P9."""
    right = _is_right(r, u, edge)
    if right and r.manifest.rows:
        return edge_follows(r, u, party_at(r, edge.neighbour), edge.key)
    return right


def confirm_due(r: Record, cut: int) -> Record:
    """04-F1, 04-F2."""
    read = sort(r, cut, r.final, "04-F1", strikes=False)
    if len(read) < r.terms.survivors or losing(r, read, r.final):
        return due_abort(r, "not_confirmed")
    r.confirmed = {u: index(r, u) for u in read}
    return due_close(r, "unmask", list(read))


def unmask_due(r: Record, cut: int) -> Record:
    """04-U1, 04-U2."""
    read = sort(r, cut, r.final, "04-U1", strikes=False)
    refuse(r, read, "04-U1", lambda u: not _fits(r, u, read[u].seed))
    for u in [u for u in read if r.manifest.rows and not seed_follows(r, u, read[u].seed)]:
        convict(r, u, index(r, u))  # 14-P10
        del read[u]
        r.out[u] = Verdict("convicted", "14-K6")
    r.own = {u: r.masks.own(said.seed, r.parties[u].id)[0] for u, said in read.items()}
    if not r.out:
        return result_due(r)
    if not r.manifest.recovers:
        return due_abort(r, "not_unmasked")
    return due_close(r, "recover", list(read))


def _fits(r: Record, u: bytes, seed: bytes) -> bool:
    """04-U1."""
    party, posted = r.parties[u].id, r.commits[u].self_mask
    if not r.manifest.bits:
        return bool(posted == r.masks.seed_hash(seed, party))
    point = commit(*r.masks.own(seed, party), vector=r.manifest.vector)
    return same(point, decode_point(posted))


def recover_due(r: Record, cut: int) -> Record:
    """04-U3, 04-U4."""
    missing = [u for u in r.final if u not in r.own]
    owed = {u: {r.place[v] for v in r.graph[u].intersection(missing)} if u in r.confirmed else set()
            for u in r.final}  # fmt: skip

    def read_shares(_: Record, author: bytes, said: Record) -> Any:
        dealers = [each.dealer for each in said.shares]
        require(dealers == sorted(set(dealers)) and owed[author].issuperset(dealers))
        return said.shares

    read = sort(r, cut, r.final, "04-U3", read_shares, strikes=False)  # also who owes nothing
    held: dict[bytes, dict[int, bytes]] = {u: {} for u in missing}
    for u, each in ((u, each) for u, shares in read.items() for each in shares):
        dealer, z = r.roll[each.dealer], r.place[u] + 1
        if share_fits(each.share, z, r.commits[dealer].dealt):
            held[dealer][z] = each.share
        else:
            r.faults = [*r.faults, fault(r, "04-U3", u, index(r, u))]
    found = {u: _recovered(r, u, held[u]) for u in missing}
    if lost := [u for u in missing if found[u] is None]:
        return due_abort(r, "not_unmasked", lost)
    r.own = r.own | found
    return result_due(r)


def _recovered(r: Record, u: bytes, shares: dict[int, bytes]) -> list[int] | None:
    """04-U4, 04-U5: its self-mask, if there is one to be found."""
    count = needed(r.manifest, len(r.graph[u]))
    used = {z: shares[z] for z in sorted(shares)[:count]}
    if len(used) < count:
        return None
    secret = combine(used)
    if not r.manifest.seeds:
        return [secret]
    seed = secret.to_bytes(32, "little")
    givers = [r.inbox["recover", r.roll[z - 1]].index for z in used]
    if _fits(r, u, seed):
        if r.manifest.rows and not seed_follows(r, u, seed):
            convict(r, u, *givers)
            return None
        return list(r.masks.own(seed, r.parties[u].id)[0])
    evidence = r.inbox["commit", u].index, *givers
    r.faults = [*r.faults, fault(r, "04-U5", u, *evidence)]
    r.convicted = r.convicted | {u}
    return None


def result_due(r: Record, _: int = 0) -> Record:
    """04-Z1, 04-Z3, 04-X3, 04-X4."""
    rows = [r.values[u] for u in r.final]
    rows += [[-value for value in values] for values in r.own.values()]
    for u, v in crossing(r, r.final):
        if key := r.keys.get(pair_of(u, v)):
            rows.append([-sign(r, u, v) * each for each in r.masks.edge(key)[0]])
    size = Q if r.manifest.bits else 2**r.manifest.word_width
    sums = [sum(column) % size for column in zip(*rows, strict=True)]
    sums = [each - size if each > (size - 1) // 2 else each for each in sums]
    listed = sorted((r.place[u], *why) for u, why in r.removed.items() if u in r.place)
    removed = [Record(position=at, phase=phase, cause=v.cause) for at, phase, v in listed]
    again = {"attempt": r.attempt, "releases": releases(r)}
    return Record(kind="result", sums=sums, removed=removed, **again)


def too_late(r: Record) -> tuple[Out, list[Fault]]:
    """04-A5, 04-F3, 04-O5: what came too late for a list and still convicts."""
    convicted = _convict(r, r.late) if "commit" in r.closes else {}
    faults, inside = blamed(r, convicted), set(r.final or [])
    for message in r.stray:
        u = message.author
        if u not in inside or message.kind != 21 or message.body[:32] not in r.leaves:
            continue  # of a fork, perhaps
        try:
            edges = decode("Opening", message.body).edges
        except Wrong:
            edges = []
        within = [each for each in edges if party_at(r, each.neighbour) in inside]
        if any(_is_right(r, u, each) for each in within):
            faults.append(fault(r, "04-O5", u, message.index))
        first = r.inbox.get(("confirm", u), message)  # 04-F3: below the cut or not
        final = next(r.closes[each] for each in LISTING if each in r.closes)
        said = judge(r, first, "confirm", final, "04-F1")
        if first.index < message.index and not isinstance(said, Verdict):
            faults.append(fault(r, "04-F3", u, first.index, message.index))
    return convicted, faults


LISTING = ("rollback", "prove", "publish")
"""Phases of which a close may be the final one, the last one first."""
Due: TypeAlias = Callable[[Record, int], Record]
DUE: dict[str, Due] = {
    "join": join_due, "coins": coins_due, "commit": commit_due, "publish": publish_due,
    "prove": prove_due, "rollback": rollback_due, "confirm": confirm_due, "unmask": unmask_due,
    "recover": recover_due, "result": result_due,
}  # fmt: skip
"""What the organiser has to say with this cut, on a copy of the round that becomes it."""
