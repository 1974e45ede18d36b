"""From accusations to the result: sections 7 to 12 of 04."""

from __future__ import annotations

from typing import Any

import codec
from codec import Format, Malformed, Record, decode, require
from curve import Q, add, decode_point, decode_scalar, is_zero, negative
from joining import Joining, good_points
from manifest import ACCUSE, COINS, COMMIT, CONFIRM, JOIN, PUBLISH, RECOVER, ROLLBACK, UNMASK
from masks import combine, same, share_fits, unpack
from proofs import commit, same_logarithm
from rounds import (
    ABSENT, CONVICTED, INVALID, KINDS, NOT_UNMASKED, ROLLBACKS, STRUCK, TOO_FEW_LEFT,
    UNCONFIRMED, Failure, Fault, Out, Read, Step, Verdict,
)  # fmt: skip


class Round(Joining):
    """The second half of a round, and what is due in each phase."""

    def demand(self, cut: int, given: Record) -> Step:
        """What the organiser has to say with this cut; `given` is what it said."""
        if self.phase is None:
            return self._result({})
        phases = {JOIN: self._join, COINS: self._coins, COMMIT: self._commit,
                  PUBLISH: self._publish, ROLLBACK: self._rollback, CONFIRM: self._confirm,
                  UNMASK: self._unmask, RECOVER: self._recover}  # fmt: skip
        return phases[self.phase](cut, given)

    # Section 7

    def convict(self, accusations: list[Record]) -> dict[bytes, Verdict]:
        """[A1] to [A5]: the first conviction of everybody, in the order of the log."""
        found: dict[bytes, Verdict] = {}
        for message in sorted(accusations, key=lambda each: each.index):
            for author, rule in self._hear(message):
                found.setdefault(author, Verdict(CONVICTED, rule, message.index, True))
        return found

    def _hear(self, message: Record) -> list[tuple[bytes, str]]:
        """Who is convicted by one accusation, and by which rule."""
        said = self._judge(
            message, ACCUSE, self.commit_leaf, self.commit_index, "04-A1",
            lambda each: decode(codec.ACCUSATION, each.body),
        )  # fmt: skip
        if isinstance(said, Verdict):
            return [(message.author, said.rule)] if said.fault else []
        u, v = self.place[message.author], said.accused
        pair, edge = (min(u, v), max(u, v)), said.about == 1
        listed = u in self.commits and v in self.commits and v in self.graph[u]
        if not listed or (edge and pair not in self.void) or not (edge or self.manifest.recovers):
            return [(message.author, "04-A1")]
        script = self.transcript(b"shared-key", self.commit_leaf, message.author)
        pairs = [(None, self.ids[u].key), (self.ids[v].key, said.shared)]
        if not good_points(said.shared) or not same_logarithm(script, pairs, said.proof):
            return [(message.author, "04-A2")]
        ids = self.ids[u].id, self.ids[v].id
        if edge:
            key = self.masks.edge_key(said.shared, *ids)
            posted = zip(pair, self.void[pair], strict=True)
            wrong = [at for at, data in posted if not self._makes(key, pair, data)]
            return [(self.ids[at].author, "04-A3") for at in wrong]
        sealed = self.commits[v].shares[self.neighbours(v).index(u)]
        share = self.masks.open_share(sealed, said.shared, ids[1], ids[0])
        if share_fits(share, u + 1, self._dealt(v)):
            return [(message.author, "04-A5")]
        return [(self.ids[v].author, "04-A4")]

    def _makes(self, key: bytes, pair: tuple[int, int], data: bytes) -> bool:
        """[O2], [A3]: whether these are the bytes that follow from the key of the edge."""
        if not self.manifest.full:
            return data == self.masks.edge_hash(key, *(self.ids[at].id for at in pair))
        values, blinding = self.masks.edge_values(key), self.masks.edge_blinding(key)
        point = commit(values, blinding, vector=self.manifest.vector)
        return good_points(data) and same(point, decode_point(data))

    def _dealt(self, u: int) -> list[bytes]:
        """C_0 .. C_(T-1)."""
        return [self.commits[u].self_mask, *self.commits[u].coefficients]

    # Section 8

    def _publish(self, cut: int, _: Record) -> Step:
        convicted = self.convict([each for each in self.many[ACCUSE] if each.index < cut])
        read, out = self._sort(
            PUBLISH, self._authors(self.members), cut, "04-P2", "04-P2", self._read_value
        )
        faults = [self._fault(v.rule, author, v.entry) for author, v in convicted.items()]
        for author in convicted.keys() & {*read, *out}:
            read.pop(author, None)
            if author not in out or out[author].cause != STRUCK:
                out[author] = convicted[author]
        for author in [each for each in read if not self._opens(*read[each])]:
            out[author] = Verdict(INVALID, "04-P1", read.pop(author)[0].index, True)
        values = {self.place[author]: content for author, (_, content) in read.items()}
        members = self._peel(sorted(values), out)
        final = self.manifest.curious or not any(self.crossing(members))  # [P3]
        if self._too_few(members):
            return Step(Failure(TOO_FEW_LEFT, self.culprits(out)), out, faults=faults)
        if not final and not self.manifest.said.max_rollbacks:
            return Step(Failure(ROLLBACKS, self.culprits(out)), out, faults=faults)

        def settle(message: Record) -> None:
            self.values = {u: values[u][0] for u in members}
            self._after_list(message, members, final=final)

        return Step(self._content(members, final=final), out, settle, faults)

    def _after_list(self, message: Record, members: list[int], *, final: bool) -> None:
        """Another rollback, or the final close."""
        self.step += 1
        self.leaves.add(message.leaf)
        self.final = members if final else None
        phase = (None if self.manifest.curious else CONFIRM) if final else ROLLBACK
        self._next(message, phase, members)

    def _read_value(self, message: Record) -> tuple[list[int], int]:
        """Section 8: the value as numbers, and the blinding."""
        said, d = decode(codec.PUBLISH, message.body), self.manifest.terms.dimension
        if not self.manifest.full:
            if said.blinding:
                raise Malformed("no blinding of words")
            return unpack(said.value, d, self.manifest.said.word_width), 0
        values = [said.value[at : at + 32] for at in range(0, len(said.value), 32)]
        if len(values) != d:
            raise Malformed("d scalars")
        return [decode_scalar(each) for each in values], decode_scalar(said.blinding)

    def _opens(self, message: Record, said: tuple[list[int], int]) -> bool:
        """[P1]."""
        if not self.manifest.full:
            return True
        u = self.place[message.author]
        made = self.commits[u]
        total = negative(commit(said[0], said[1], vector=self.manifest.vector))
        for encoding in (made.output, made.self_mask):
            total = add(total, decode_point(encoding))
        for v in self.graph[u]:
            pair = min(u, v), max(u, v)
            if pair in self.live:
                point = decode_point(self.live[pair])
                total = add(total, point if self.sign(u, v) > 0 else negative(point))
        return is_zero(total)

    # Section 9

    def _rollback(self, cut: int, _: Record) -> Step:
        owed: dict[int, list[int]] = {}
        for u, v in self.crossing(self.members):  # [O1]
            if (min(u, v), max(u, v)) not in self.keys:
                owed.setdefault(u, []).append(v)
        read, out = self._read_openings(cut, owed)
        stay = [u for u in self.members if self.ids[u].author not in out]
        members = self._peel(stay, out)
        final = members == self.members  # [O3]
        if self._too_few(members):
            return Step(Failure(TOO_FEW_LEFT, self.culprits(out)), out)
        if not final and self.step >= self.manifest.said.max_rollbacks:  # [O4]
            return Step(Failure(ROLLBACKS, self.culprits(out)), out)

        def settle(message: Record) -> None:
            counted = {id(each) for each, _ in read.values()}
            self.stray += [each for each in self.many[ROLLBACK] if id(each) not in counted]
            for author, (_, said) in read.items():
                u = self.place[author]
                for each in said.edges:
                    self.keys[min(u, each.neighbour), max(u, each.neighbour)] = each.key
            self._after_list(message, members, final=final)

        return Step(self._content(members, final=final), out, settle)

    def _read_openings(self, cut: int, owed: dict[int, list[int]]) -> tuple[Read, Out]:
        """[E2], [O1] to [O3]: of each party the first message that acts on the close before."""

        def opening(message: Record) -> Record:
            said: Record = decode(codec.OPENING, message.body)
            u = self.place[message.author]
            require([each.neighbour for each in said.edges] == sorted(owed.get(u, [])), "04-O1")
            require(all(self._opened(u, each) for each in said.edges), "04-O2")
            return said

        judged: dict[bytes, tuple[Record, Any]] = {}
        for message in self.many[ROLLBACK]:
            author = message.author
            if message.index < cut and self.place[author] in self.members and author not in judged:
                said = self._judge(message, ROLLBACK, self.acts_on, self.since, "04-O1", opening)
                if not isinstance(said, Verdict) or said.rule != "04-E4":
                    judged[author] = message, said
        read = {a: found for a, found in judged.items() if not isinstance(found[1], Verdict)}
        out = {a: found for a, (_, found) in judged.items() if a not in read}
        for u in self.members:
            author = self.ids[u].author
            if self.struck.get(author, cut) < cut:
                read.pop(author, None)
                out[author] = Verdict(STRUCK, "04-E3", self.struck[author])
            elif u in owed and author not in judged:
                out[author] = Verdict(ABSENT, "04-O3")
        return read, out

    def _opened(self, u: int, edge: Record) -> bool:
        """[O2]."""
        pair = min(u, edge.neighbour), max(u, edge.neighbour)
        return pair in self.live and self._makes(edge.key, pair, self.live[pair])

    # Sections 10 and 11

    def _listed(self, phase: int, cut: int, form: Format, rule: str) -> tuple[Read, Out]:
        """Messages of U_fin; evidence changes nothing any more ([E3])."""
        authors = self._authors(self.final or [])

        def read(message: Record) -> Any:
            return decode(form, message.body)

        return self._sort(phase, authors, cut, rule, rule, read, strikes=False)

    def _confirm(self, cut: int, _: Record) -> Step:
        """[F1], [F2]."""
        read, out = self._listed(CONFIRM, cut, codec.CONFIRM, "04-F1")
        everybody = self.final or []
        confirmed = [u for u in everybody if self.ids[u].author in read]
        if self._too_few(confirmed) or self.losing(everybody, confirmed):
            return Step(Failure(UNCONFIRMED, self.culprits(out)), out)

        def settle(message: Record) -> None:
            self.confirmed = {author: each.index for author, (each, _) in read.items()}
            self._next(message, UNMASK, confirmed)

        return Step(self._content(confirmed), out, settle)

    def _unmask(self, cut: int, _: Record) -> Step:
        """[U1], [U2]."""
        read, out = self._listed(UNMASK, cut, codec.UNMASK, "04-U1")
        for author in [each for each in read if not self._fits(each, read[each][1].seed)]:
            out[author] = Verdict(INVALID, "04-U1", read.pop(author)[0].index, True)
        own = {}
        for author, (_, said) in read.items():
            party = self.ids[self.place[author]].id
            own[self.place[author]] = self.masks.own_values(said.seed, party)
        if not out:
            return self._result(own)
        if not self.manifest.recovers:
            return Step(Failure(NOT_UNMASKED, self.culprits(out)), out)

        def settle(message: Record) -> None:
            self.own = own
            self._next(message, RECOVER, sorted(own))

        return Step(self._content(sorted(own)), out, settle)

    def _fits(self, author: bytes, seed: bytes) -> bool:
        """[U1]."""
        u = self.place[author]
        party, posted = self.ids[u].id, self.commits[u].self_mask
        if not self.manifest.full:
            return bool(posted == self.masks.seed_hash(seed, party))
        values, blinding = self.masks.own_values(seed, party), self.masks.own_blinding(seed, party)
        return same(commit(values, blinding, vector=self.manifest.vector), decode_point(posted))

    def _recover(self, cut: int, _: Record) -> Step:
        """[U3], [U4]."""
        missing = set(self.final or []) - set(self.own)
        owed = {u: missing & self.graph[u] for u in map(self.place.__getitem__, self.confirmed)}

        def read_shares(message: Record) -> Record:
            said: Record = decode(codec.RECOVER, message.body)
            dealers = [each.dealer for each in said.shares]
            if dealers != sorted(set(dealers)) or not owed[self.place[message.author]] >= {
                *dealers
            }:
                raise Malformed("shares of missing neighbours, in increasing position")
            return said

        givers = self._authors(sorted(u for u in owed if owed[u]))
        read, out = self._sort(RECOVER, givers, cut, "04-U3", "04-U3", read_shares, strikes=False)
        shares: dict[int, dict[int, bytes]] = {dealer: {} for dealer in sorted(missing)}
        faults: list[Fault] = []
        for author, (message, said) in read.items():
            z = self.place[author] + 1
            for each in said.shares:
                if share_fits(each.share, z, self._dealt(each.dealer)):
                    shares[each.dealer][z] = each.share
                else:
                    faults.append(self._fault("04-U3", author, message.index))
        lost = [u for u in shares if len(shares[u]) < len(self._dealt(u))]
        if lost:
            return Step(Failure(NOT_UNMASKED, lost), out, faults=faults)
        recovered = {u: [combine(held)] for u, held in shares.items()}
        step = self._result({**self.own, **recovered})
        return Step(step.said, out, faults=faults)

    # Section 12

    def _result(self, own: dict[int, list[int]]) -> Step:
        """[Z1]."""
        inside = self.final or []
        rows = [self.values[u] for u in inside]
        rows += [[-value for value in values] for values in own.values()]
        for u, v in self.crossing(inside):
            key = self.keys.get((min(u, v), max(u, v)))
            if key is not None:
                rows.append([-self.sign(u, v) * each for each in self.masks.edge_values(key)])
        size = Q if self.manifest.full else 2**self.manifest.said.word_width
        half = (size - 1) // 2 if self.manifest.full else size // 2 - 1
        sums = [sum(column) % size for column in zip(*rows, strict=True)]
        return Step([each - size if each > half else each for each in sums], {})

    def removals(self) -> list[Record]:
        """[Z3]: everybody on the roll that is not in U_fin."""
        rows = [
            Record(position=self.place[author], phase=phase, cause=verdict.cause)
            for author, (phase, verdict) in self.removed.items()
            if author in self.place
        ]
        return sorted(rows, key=lambda row: int(row.position))

    def too_late(self) -> tuple[dict[bytes, Verdict], list[Fault]]:
        """[A5], [F3], [O5]: what came too late for a list and still convicts."""
        convicted = self.convict(self.late) if self.commit_leaf else {}
        faults = self.blamed(convicted)
        inside = set(self.final or [])
        for message in self.stray:
            if self.place[message.author] not in inside or message.kind != KINDS[ROLLBACK]:
                continue
            try:
                edges = decode(codec.OPENING, message.body).edges
            except Malformed:
                edges = []
            u, confirmed = self.place[message.author], self.confirmed.get(message.author)
            if message.body[:32] not in self.leaves:
                continue  # of a fork, perhaps
            if any(each.neighbour in inside and self._opened(u, each) for each in edges):
                faults.append(self._fault("04-O5", message.author, message.index))
            elif confirmed is not None:
                faults.append(self._fault("04-F3", message.author, confirmed, message.index))
        return convicted, faults
