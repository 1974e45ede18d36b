"""A round of 04: where messages go, and what the organiser has to say; sections 1 to 4 and 12."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple, TypeAlias

from curve import are_points, decode_point
from masks import Masks
from proofs import Transcript
from codec import FORMATS, Record, Wrong, decode, require

PHASES = list(FORMATS["Phase"].values())
KINDS = FORMATS["Kind"]
_PLACES = {"prove": PHASES.index("publish") + 0.5, "result": len(PHASES)}
ORDER = {phase: number for number, phase in enumerate(PHASES)} | _PLACES
"""The number of prove does not say when it comes."""
REPEATABLE = {"accuse", "rollback"}

Reading: TypeAlias = Callable[[Record, bytes, Any], Any]
Out: TypeAlias = "dict[bytes, Verdict]"
Pair: TypeAlias = tuple[bytes, bytes]


def party_id(author: bytes) -> bytes:
    """Section 1."""
    return sha256(b"gopa/v1/protocol/party" + author).digest()


class Verdict(NamedTuple):
    """Why somebody is not in a list; `fault` if the entry convicts its author."""

    cause: str
    rule: str
    entry: int = -1
    fault: bool = False


class Fault(NamedTuple):
    """Who broke which rule; these entries show it."""

    round: int
    entries: tuple[int, ...]
    rule: str
    role: str
    author: bytes


def new_round(session: Any, logical: int, attempt: int, opened: Record) -> Record:
    """All that is known of a round, which the functions of a round take as `r`.

    A phase finds what is next on a copy, of which it replaces fields and changes none in place.
    All lists have parties by the keys that they sign with, in the order of their positions.
    """
    before, number, m = session.rounds[-1:], len(session.rounds) + 1, session.manifest
    again, tag = before if attempt else [], number.to_bytes(2)
    sizes = m.terms.dimension, m.terms.mask_deviation, m.word_width
    return Record(
        manifest=m, terms=m.terms, number=number, logical=logical, attempt=attempt,
        session=session.session, tag=session.session + tag,
        masks=Masks(session.session, tag, *sizes),
        early=session.early, struck=session.struck, barred=session.barred(),
        inputs=again[0].inputs if again else {}, seeds=before[0].seeds if before else {},
        released=releases(again[0]) if again else 0,
        phase="join", next="", step=0, opened=opened, closes={},
        inbox={}, many=[], late=[], stray=[], out={}, faults=[], removed={}, laggards=set(),
        convicted=set(),
        roll=None, parties={}, place={}, members=[], graph={}, joint=b"", withheld=0,
        commits={}, edges={}, live={}, values={}, keys={}, leaves=set(), final=None,
        coins=[], published={}, spare=0, equations=None, tests=None, proofs={}, disputed=set(),
        confirmed={}, own={}, sums=None, abort=None, over=False,
        by_cut=set(), spared=set(), to_blame=set(), veto=[],
    )  # fmt: skip


def releases(r: Record) -> int:
    """04-X4: valid final closes of the logical round, this one's included."""
    return int(r.released + (r.final is not None))


def route(r: Record, message: Record) -> None:
    """04-E2, 04-E4: a message of this round by somebody who may be a party."""
    phase, author = PHASES[message.phase], message.author
    if r.roll is not None and author not in r.place:
        return
    if phase == "join" and not r.manifest.rows:
        _sow(r, message)
    now = "accuse" if r.phase == "publish" else r.phase
    if phase in REPEATABLE and phase == now:
        r.many.append(message)
    elif phase == r.phase:
        first = r.inbox.setdefault((phase, author), message)
        if first is not message:
            r.faults.append(fault(r, "04-E2", author, first.index, message.index))
    elif ORDER[phase] > ORDER[now]:
        if phase not in REPEATABLE:
            r.early.setdefault((r.number, phase, author), message.index)
    elif phase == "accuse":
        r.late.append(message)
    elif phase == "rollback":
        r.stray.append(message)


def _sow(r: Record, message: Record) -> None:
    """04-J5: a C_y (or A) counts as used from its first well-formed join on, at any time."""
    try:
        seed = read_join(r, message.author, decode("Join", message.body)).seed
    except Wrong:
        return
    if seed:
        r.seeds.setdefault(seed, (message.index, message.author))


def read_join(r: Record, _: bytes, join: Record) -> Record:
    """04-J2; 14-L3 and 14-M1."""
    if r.manifest.rows:
        return _read_row_join(r, join)
    size, nonce = 32 * r.manifest.bits, 32 * (r.manifest.beacon.tag == "commit_reveal")
    seed = 0 if r.manifest.exact else size
    require((len(join.nonce_hash), len(join.input), len(join.seed)) == (nonce, size, seed))
    for point in filter(None, [join.key, join.input, join.seed]):
        decode_point(point)
    return join


def _read_row_join(r: Record, join: Record) -> Record:
    shape, nonce = r.manifest.shape, 32 * (r.manifest.beacon.tag == "commit_reveal")
    require(len(join.nonce_hash) == nonce and are_points(join.key))
    require_rows((join.input, shape.h), (join.noise, shape.h), (join.pads, shape.pads))
    return join.changed(seed=b"")


def require_rows(*vectors: tuple[list[bytes], int]) -> None:
    """14-M1, 14-L3: so many rows each, none of them the identity."""
    require(all(len(rows) == count for rows, count in vectors), "14-M1")
    require(all(are_points(*rows) for rows, _ in vectors), "14-L3")


def fault(r: Record, rule: str, author: bytes, *entries: int) -> Fault:
    """A party's."""
    return Fault(r.number, entries, rule, "party", author)


def blamed(r: Record, out: Out) -> list[Fault]:
    """Verdicts that convict."""
    return [fault(r, v.rule, author, v.entry) for author, v in out.items() if v.fault]


def sort(
    r: Record, cut: int, authors: Iterable[bytes], rule: str, read: Reading | None = None,
    missing: str = "", *, strikes: bool = True,
) -> dict[bytes, Any]:  # fmt: skip
    """What everybody's message below the cut says; in `out`, why the others do not count."""
    found: dict[bytes, Any] = {}
    r.out = {}
    for author in authors:
        message = r.inbox.get((r.phase, author))
        early = r.early.get((r.number, r.phase, author), cut)
        if strikes and is_struck(r, author, cut):
            continue
        if early < cut:
            said: Any = Verdict("invalid", "04-E4", early)
        elif message is None or message.index >= cut:
            said = Verdict("absent", missing or rule)
        else:
            said = judge(r, message, r.phase, r.opened, rule, read)
        (r.out if isinstance(said, Verdict) else found)[author] = said
    return found


def is_struck(r: Record, author: bytes, cut: int) -> bool:
    """04-E3."""
    entry = r.struck.get((r.number, author), cut)
    if entry < cut:
        r.out[author] = Verdict("struck", "04-E3", entry)
    return bool(entry < cut)


def judge(
    r: Record, message: Record, phase: str, opened: Record, rule: str, read: Reading | None = None
) -> Any:
    """04-E2, 04-E4, 04-S4, then what the phase demands: the content, or a Verdict."""
    at = message.index
    if (message.seq and phase not in REPEATABLE) or message.kind != 15 + PHASES.index(phase):
        return Verdict("invalid", "04-E2", at, True)
    if message.body[:32] != opened.leaf or message.first <= opened.index:
        return Verdict("invalid", "04-E4", at)
    try:
        require(len(message.body) <= r.manifest.largest[phase], "04-S4")
        said = decode(form_of(r, KINDS[message.kind]), message.body)
        return read(r, message.author, said) if read else said
    except Wrong as error:
        return Verdict("invalid", error.rule or rule, at, True)


def form_of(r: Record, kind: str) -> str:
    """14-M1: with rows some kinds have bodies of their own."""
    long = r.manifest.rows and kind in {"join", "commit", "publish"}
    return "Row" * long + kind.capitalize()


def refuse(
    r: Record, read: dict[bytes, Any], rule: str, breaks: Callable[[bytes], object], *,
    fault: bool = True,
) -> None:  # fmt: skip
    """Out with everybody who breaks this rule."""
    for author in [each for each in read if breaks(each)]:
        del read[author]
        r.out[author] = Verdict("invalid", rule, index(r, author), fault)


def index(r: Record, author: bytes) -> int:
    """Of the party's message in this phase."""
    return int(r.inbox[r.phase, author].index)


def transcript(r: Record, purpose: bytes, author: bytes, leaf: bytes = b"") -> Transcript:
    """What binds a party's proof (04-J3, 04-K3)."""
    return Transcript(purpose, r.session, r.number, leaf or r.opened.leaf, party_id(author))


def pair_of(u: bytes, v: bytes) -> Pair:
    """An edge; positions are in the order of keys."""
    return min(u, v), max(u, v)


def party_at(r: Record, position: int) -> bytes:
    """Who stands there on the roll; else nobody."""
    return bytes(r.roll[position]) if position < len(r.roll) else b""


def sign(r: Record, u: bytes, v: bytes) -> int:
    """04-P1: + at the smaller id."""
    return 1 if r.parties[u].id < r.parties[v].id else -1


def crossing(r: Record, inside: Iterable[bytes]) -> Iterator[Pair]:
    """Live edges from inside to outside."""
    kept = set(inside)
    for u, v in r.live:
        if (u in kept) != (v in kept):
            yield (u, v) if u in kept else (v, u)


def losing(r: Record, inside: Iterable[bytes], parties: Iterable[bytes]) -> set[bytes]:
    """04-L1: who lost more than r neighbours, if these are the ones that are left."""
    kept, most = set(inside), r.terms.loss
    return {u for u in parties if r.withheld + len(r.graph[u] - kept) > most}


def peel(r: Record, members: Iterable[bytes]) -> list[bytes]:
    """04-L2; whoever is peeled off gets a verdict."""
    left = sorted(members)
    while gone := losing(r, left, left):
        left = [u for u in left if u not in gone]
        r.out |= {u: Verdict("lost", "04-L2") for u in gone}
    return left


def due_abort(r: Record, reason: str, culprits: list[bytes] | None = None) -> Record:
    """04-X1: not those that only lost neighbours; 04-X2."""
    if culprits is None:
        culprits = [author for author, v in r.out.items() if v.cause != "lost"]
    places = sorted(r.place[each] for each in culprits if each in r.place)
    released = "none" if r.final is None else "masked"
    return Record(kind="abort", released=released, reason=reason, culprits=places)


def due_close(r: Record, phase: str, members: list[bytes], **more: Any) -> Record:
    """The close that opens this phase for these; section 2: one bit for each position."""
    bits = sum(1 << r.place[each] for each in members)
    data = bits.to_bytes(-(-len(r.place) // 8), "little")
    r.next, r.members = phase, members
    return Record(kind="close", phase=r.phase, members=data, **(more or {"final": 0}))


def due_list(r: Record, members: list[bytes], *, final: bool) -> Record:
    """04-P3, 04-O3, 04-O4: another rollback, or the final close."""
    if len(members) < r.terms.survivors:
        return due_abort(r, "too_few_left")
    if not final and r.step >= r.manifest.max_rollbacks:
        return due_abort(r, "too_many_rollbacks")
    r.step += 1
    r.final = members if final else None
    after = "result" if r.manifest.curious else "confirm"
    return due_close(r, after if final else "rollback", members, final=int(final))


def cut_off(r: Record, cut: int, end: int) -> dict[bytes, int]:
    """04-C6: who posted in the phase from the cut on, below the message; the first index."""
    posted = [message for (phase, _), message in r.inbox.items() if phase == r.phase]
    posted += [each for each in r.many if each.body[:32] == r.opened.leaf]
    found: dict[bytes, int] = {}
    for message in posted:
        if cut <= message.index < end:
            found.setdefault(message.author, message.index)
    return found


def late_by_cut(r: Record, again: Record, left: dict[bytes, int]) -> dict[bytes, int]:
    """04-C6: with `again`, the round with the message's index as its cut, they are not absent."""
    kept = {u for u in left if u not in again.out or again.out[u].cause == "lost"}
    if r.phase != "join":
        kept = {u for u in kept if u in r.out and r.out[u].cause == "absent"}
    return {u: left[u] for u in kept}


def is_veto(r: Record, whole: Record, late: dict[bytes, int]) -> bool:
    """04-X7: `whole` would be due with the message's index as its cut."""
    at_recover = r.phase == "recover"
    spared = {r.place[u] for u in (r.spared if at_recover else late) if u in r.place}
    if whole.kind == "abort":
        r.to_blame = set(whole.culprits) - spared
    return whole.kind != "abort" or (at_recover and not r.to_blame)


def accept(r: Record, message: Record, said: Record, kind: str, late: set[bytes]) -> None:
    """What the organiser said counts from now on, with what this phase found."""
    phase, own = r.phase, kind == "abort" and said.reason == "organiser"
    r.by_cut, r.spared = r.by_cut | late, late if phase == "unmask" else r.spared
    r.faults = [*r.faults, *blamed(r, r.out)]
    if ORDER[phase] <= ORDER["rollback"]:
        r.removed = r.removed | {u: (phase, v) for u, v in r.out.items()}
    elif phase in {"confirm", "unmask"}:
        r.laggards = r.laggards | (r.out.keys() - late)
    if phase == "publish":  # 04-A5: what was not heard is judged for later rounds
        r.late = r.late + [each for each in r.many if own or each.index >= said.cut]
    r.many, r.out = [], {}
    if kind == "close":
        r.closes = {**r.closes, phase: message}
        if phase in {"publish", "prove", "rollback"}:
            r.leaves = r.leaves | {message.leaf}
        r.opened, r.phase = message, r.next
    else:
        r.sums, r.abort = getattr(said, "sums", None), getattr(said, "reason", None)
        r.phase, r.over = "result", True
