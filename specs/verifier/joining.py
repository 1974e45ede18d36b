"""From the close of join to that of commit: sections 4 to 6 of 04, graph (03) and coins (09)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256, shake_128

import codec
from codec import Malformed, Record, decode, require
from curve import decode_point
from manifest import COINS, COMMIT, JOIN, PUBLISH
from proofs import bit_noise_holds, same_logarithm, table_noise_holds, weighing_holds
from rounds import (
    INVALID, TOO_FEW_JOINED, TOO_FEW_LEFT, WITHHELD, Failure, Lists, Out, Outside, Step,
    Verdict, party_id,
)  # fmt: skip


def beacon(name: bytes, *fields: bytes) -> bytes:
    """F of 09, [D13]."""
    label = b"gopa/v1/beacon/" + name
    return bytes([len(label)]) + label + b"".join(fields)


def hashed(name: bytes, *fields: bytes) -> bytes:
    """H of 09, [D13]."""
    return sha256(beacon(name, *fields)).digest()


def choices(seed: bytes, u: int, n: int, k: int) -> set[int]:
    """[V1] of 03."""
    stream = shake_128(b"gopa/v1/protocol/graph" + seed + u.to_bytes(4) + n.to_bytes(4))
    chosen: set[int] = set()
    at, size = 0, 1024
    data = stream.digest(size)
    while len(chosen) < k:
        if at == size:
            size *= 2
            data = stream.digest(size)
        word, at = int.from_bytes(data[at : at + 8]), at + 8
        if word < 2**64 - 2**64 % (n - 1):
            v = word % (n - 1)
            chosen.add(v + (v >= u))
    return chosen


def good_points(*encodings: bytes) -> bool:
    """Whether all are canonical points other than the identity."""
    try:
        return all(decode_point(each) for each in encodings)
    except Malformed:
        return False


class Joining(Lists):
    """The first half of a round."""

    # Section 4

    def _join(self, cut: int, given: Record) -> Step:
        authors = {author for phase, author in {**self.early, **self.inbox} if phase == JOIN}
        below = [a for a in sorted(authors) if (JOIN, a) not in self.inbox
                 or self.inbox[JOIN, a].index < cut]  # fmt: skip
        read, out = self._sort(JOIN, below, cut, "04-J2", "04-J1", self._read_join)

        def refuse(
            rule: str, wrong: Callable[[bytes, Record], bool], *, fault: bool = True
        ) -> None:
            refused = [author for author in read if wrong(author, read[author][1])]
            for author in refused:
                out[author] = Verdict(INVALID, rule, read.pop(author)[0].index, fault)

        refuse("04-X5", lambda author, _: author in self.barred, fault=False)
        refuse("04-J3", lambda author, join: not same_logarithm(
            self.transcript(b"possession", self.acts_on, author), [(None, join.key)],
            join.possession))  # fmt: skip
        keys = [join.key for _, join in read.values()]
        refuse("04-J4", lambda _, join: keys.count(join.key) > 1)
        refuse("04-J5", lambda author, join: join.input != self.inputs.get(author, join.input))
        used = {author: self.seeds.get(join.seed, (message.index, author))
                for author, (message, join) in read.items()}  # fmt: skip
        again = {author for author in read if used[author][0] != read[author][0].index}
        refuse("04-J5", lambda author, _: author in again and used[author][1] == author)
        refuse("04-J5", lambda author, _: author in again, fault=False)
        if self.manifest.said.admission.tag == "open":
            order = sorted(read, key=lambda author: read[author][0].index)
            most = self.manifest.said.admission.most
            refuse("04-J1", lambda author, _: author in order[most:], fault=False)
        if self._too_few(read):
            return Step(Failure(TOO_FEW_JOINED, []), out)
        joins = [read[author][1] for author in sorted(read)]
        for author, join in zip(sorted(read), joins, strict=True):
            join.author = author
        rows = [Record(author=j.author, key=j.key, nonce_hash=j.nonce_hash) for j in joins]
        named = 0
        if self.manifest.beacon == "drand" and hasattr(given, "content"):
            named = getattr(given.content, "beacon_round", 0)  # [J7]

        def settle(message: Record) -> None:
            self.roll, self.ids, self.roll_leaf = rows, joins, message.leaf
            self.place = {join.author: at for at, join in enumerate(joins)}
            for join in joins:
                self.inputs.setdefault(join.author, join.input)
                join.id = party_id(join.author)
            self._next(message, COINS, list(range(len(joins))))

        return Step(Record(tag="roll", parties=rows, beacon_round=named), out, settle)

    # Section 5

    def _coins(self, cut: int, _: Record) -> Step:
        if self.manifest.beacon == "drand":
            raise Outside("coins of drand are not checked here")
        everybody, out, nonces = list(range(len(self.ids))), Out(), list[bytes]()
        members, joint = everybody, hashed(b"simulation-coins", self.tag, self.roll_leaf)  # [V5]
        if self.manifest.beacon == "commit_reveal":
            read, out = self._sort(COINS, self.place, cut, "04-V1", "04-V1", self._read_reveal)
            members = [u for u in everybody if self.ids[u].author in read]
            if len(everybody) - len(members) > self.manifest.terms.loss:  # [L3]
                return Step(Failure(WITHHELD, self.culprits(out)), out)
            if self._too_few(members):
                return Step(Failure(TOO_FEW_LEFT, self.culprits(out)), out)
            nonces = [read[author][1].nonce for author in self._authors(members)]
            joint = hashed(b"joint-coins", self.tag, len(nonces).to_bytes(4), *nonces)  # [V3]

        def settle(message: Record) -> None:
            self.joint, self.withheld = joint, len(everybody) - len(members)
            self._draw_graph(members, nonces)
            self._next(message, COMMIT, members)

        packed = self.packed(members)
        said = Record(tag="coins", members=packed, nonces=nonces, signature=b"", previous=b"")
        return Step(said, out, settle)

    def _read_reveal(self, message: Record) -> Record:
        """[V1]."""
        reveal: Record = decode(codec.REVEAL, message.body)
        party = self.ids[self.place[message.author]]
        if hashed(b"reveal-hash", self.tag, party.id, reveal.nonce) != party.nonce_hash:
            raise Malformed("the nonce behind the hash")
        return reveal

    def _draw_graph(self, members: list[int], nonces: list[bytes]) -> None:
        """[V2]; 09, [D15] and [D19]."""
        n = len(self.ids)
        k = min(self.manifest.terms.k, n - 1)
        seeds = dict.fromkeys(members, hashed(b"graph-seed", self.joint))
        for u, nonce in zip(members, nonces, strict=bool(nonces)):
            seeds[u] = hashed(b"choices", self.tag, self.roll_leaf, nonce)
        self.graph = [set() for _ in range(n)]
        for u in members:
            for v in choices(seeds[u], u, n, k) & seeds.keys():
                self.graph[u].add(v)
                self.graph[v].add(u)

    # Section 6

    def _commit(self, cut: int, _: Record) -> Step:
        read, out = self._sort(
            COMMIT, self._authors(self.members), cut, "04-K1", "04-K4", self._read_commit
        )
        posted = {self.place[author]: content for author, (_, content) in read.items()}
        members = self._peel(sorted(posted), out)
        if self._too_few(members):
            return Step(Failure(TOO_FEW_LEFT, self.culprits(out)), out)

        def settle(message: Record) -> None:
            self.commits = {u: posted[u] for u in members}
            self.commit_leaf, self.commit_index = message.leaf, message.index
            self._match_edges()
            self._next(message, PUBLISH, members)

        return Step(self._content(members), out, settle)

    def _read_commit(self, message: Record) -> Record:
        """[K1], [K6], [K2], [K3]."""
        made: Record = decode(codec.COMMIT, message.body)
        full = self.manifest.full
        degree = len(self.graph[self.place[message.author]])
        shares = degree * self.manifest.recovers
        needed = self.manifest.needed(degree) - 1 if self.manifest.recovers else 0
        sizes = len(made.edges), len(made.coefficients), len(made.shares), len(made.output)
        fits = sizes == (degree, needed, shares, 32 * full) and bool(made.proof) == full
        require(fits, "04-K1")
        require(bool(made.weighing) == (full and self.manifest.said.weighted), "04-K6")
        require(not self.manifest.curious or made.self_mask == bytes(32), "04-K1")
        if full:
            require(good_points(made.self_mask, made.output, *made.coefficients), "04-K2")
            require(self._proved(message.author, made), "04-K3")
        return made

    def _proved(self, author: bytes, made: Record) -> bool:
        """[K3], [V6] and [K6]."""
        manifest, party = self.manifest, self.ids[self.place[author]]
        steps, law = manifest.terms.steps, manifest.law
        points = party.input, party.seed, made.output
        drawn = self.joint + self.tag + party.id
        script = self.transcript(b"input-and-noise", self.acts_on, author)
        if not manifest.vector:
            bits = law.total.bit_length() - 1
            stream = shake_128(beacon(b"draw-coin", drawn, bytes(4), bytes([bits])))
            coin = int.from_bytes(stream.digest(8)) >> 64 - bits  # [D20]
            return table_noise_holds(script, law, coin, steps, points, made.proof)
        count = manifest.terms.dimension * len(law.weights)
        data = shake_128(beacon(b"flip-coins", drawn, count.to_bytes(4))).digest(-(-count // 8))
        coins = [data[i // 8] >> 7 - i % 8 & 1 for i in range(count)]  # [D21]
        if not bit_noise_holds(script, law, coins, steps, points, made.proof):
            return False
        script = self.transcript(b"weighing", self.acts_on, author)
        d = manifest.terms.dimension
        return not made.weighing or weighing_holds(script, d, steps, party.input, made.weighing)

    def _match_edges(self) -> None:
        """[K5]."""
        for u, made in self.commits.items():
            for v, mine in zip(self.neighbours(u), made.edges, strict=True):
                if u < v and v in self.commits:
                    theirs = self.commits[v].edges[self.neighbours(v).index(u)]
                    if mine == theirs and (not self.manifest.full or good_points(mine)):
                        self.live[u, v] = mine
                    else:
                        self.void[u, v] = mine, theirs

    def sign(self, u: int, v: int) -> int:
        """[P1]: + at the smaller id."""
        return 1 if self.ids[u].id < self.ids[v].id else -1

    def crossing(self, inside: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Live edges from inside to outside."""
        kept = set(inside)
        for u, v in self.live:
            if (u in kept) != (v in kept):
                yield (u, v) if u in kept else (v, u)
