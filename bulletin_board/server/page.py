"""The page at the board's root, and the document about sessions that it shows.

The page is one file without outside assets, and never treats names as markup. What a session
means is supplied by the protocol; without it, sessions are numbers.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Protocol

from bulletin_board.display import visible
from bulletin_board.witness.asking import WitnessHealth

_MOST_SESSIONS = 100
_MOST_TIMES = 1_000


@dataclass(frozen=True, slots=True)
class PartyPicture:
    """One party as people see it on a board's page."""

    party: str
    name: str
    status: str


@dataclass(frozen=True, slots=True)
class PhasePicture:
    """How many have posted in a phase, of how many; None where nobody is expected to."""

    name: str
    posted: int
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class SessionPicture:
    """One session as people see it: title, state, phases, parties, and their edges.

    `tone` is `good` for a result, `unsure` for one that is mostly noise, `bad` for a round
    without one, and empty for what goes on.
    Without `progress` the entries of each phase are counted, under the names in `phases`.
    """

    title: str
    phases: Mapping[int, str]
    parties: Sequence[PartyPicture] = ()
    edges: Sequence[tuple[str, str]] = ()
    state: str = ""
    tone: str = ""
    progress: Sequence[PhasePicture] = ()


class SessionTimes:
    """When entries of sessions came in, since this server started.

    The log itself has no times. `known` are the sessions that it held before: of them nobody
    knows when they began.
    """

    def __init__(self, known: Iterable[bytes], clock: Callable[[], float] = time.time) -> None:
        self._known = frozenset(known)
        self._clock = clock
        self._found: OrderedDict[bytes, tuple[int | None, int]] = OrderedDict()

    def note(self, session: bytes) -> None:
        """Note that an entry of the session came in; the sessions longest silent are forgotten."""
        now = int(self._clock())
        fresh = None if session in self._known else now
        begun = self._found[session][0] if session in self._found else fresh
        self._found[session] = begun, now
        self._found.move_to_end(session)
        if len(self._found) > _MOST_TIMES:
            self._known |= {self._found.popitem(last=False)[0]}

    def of(self, session: bytes) -> tuple[int | None, int | None]:
        """When the first and the last entry came in, in seconds since 1970, where that is known."""
        return self._found.get(session, (None, None))


class SessionView(Protocol):
    """What the bytes of a session mean. Called in a thread of the server, one at a time."""

    def picture(self, session: bytes) -> SessionPicture | None:
        """What to show about a session, or None."""


class NoView:
    """The view of a board that knows no sessions: the page has them as hexadecimal numbers."""

    def picture(self, session: bytes) -> SessionPicture | None:
        del session
        return None


def overview(  # noqa: PLR0913, PLR0917 - one argument for each thing shown
    origin: str,
    checkpoint: str,
    size: int,
    census: Mapping[tuple[bytes, int], int],
    witnesses: Mapping[str, WitnessHealth],
    view: SessionView,
    times: SessionTimes | None = None,
) -> dict[str, object]:
    """The JSON document behind the page. Every name in it is safe to show."""
    times = SessionTimes(()) if times is None else times
    return {
        "origin": visible(origin),
        "size": size,
        "checkpoint": "\n".join(map(visible, checkpoint.split("\n"))),
        "witnesses": [
            {"name": visible(name), "time": found.time, "state": found.state.value}
            for name, found in sorted(witnesses.items())
        ],
        "sessions": [_session(*item, view, times) for item in _by_session(census).items()],
    }


def _by_session(census: Mapping[tuple[bytes, int], int]) -> dict[bytes, dict[int, int]]:
    """The newest session first; of many the 100 with most entries: a flood cannot hide others."""
    found: dict[bytes, dict[int, int]] = {}
    for (session, phase), count in census.items():
        found.setdefault(session, {})[phase] = count
    busiest = nsmallest(_MOST_SESSIONS, found, key=lambda s: (-sum(found[s].values()), s))
    chosen = set(busiest)
    return {session: found[session] for session in reversed(found) if session in chosen}


def _session(
    session: bytes, counts: Mapping[int, int], view: SessionView, times: SessionTimes
) -> dict[str, object]:
    picture = view.picture(session) or SessionPicture("", {})
    begun, last = times.of(session)
    progress = picture.progress or [
        PhasePicture(picture.phases.get(phase, f"phase {phase}"), count)
        for phase, count in sorted(counts.items())
    ]
    return {
        "id": session.hex(),
        "title": visible(picture.title),
        "state": visible(picture.state),
        "tone": visible(picture.tone),
        "begun": begun,
        "last": last,
        "entries": sum(counts.values()),
        "phases": [
            {"name": visible(each.name), "entries": each.posted, "expected": each.expected}
            for each in progress
        ],
        "parties": [
            {"id": visible(p.party), "name": visible(p.name), "status": visible(p.status)}
            for p in picture.parties
        ],
        "edges": [[visible(a), visible(b)] for a, b in picture.edges],
    }


STYLE = """
:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.45;
  --line: #8885; --soft: #8882; --good: #1a7f37; --bad: #c0262d;
  --unsure: #7a4a00; }
@media (prefers-color-scheme: dark) { :root { --good: #56d364; --bad: #ff7b72;
  --unsure: #f2bd5c; } }
body { margin: 0 auto; max-width: 64rem; padding: 1rem; overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: baseline; }
h1 { font-size: 1.35rem; margin: 0; }
h2 { font-size: 1.05rem; margin: 1.6rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
#origin { font-family: ui-monospace, monospace; opacity: .8; }
#state { margin-left: auto; padding: 0 .6rem; border-radius: 1rem; border: 1px solid;
  color: var(--good); }
#state[data-bad=true] { color: var(--bad); font-weight: bold; }
.count { font-size: 2.2rem; font-weight: 600; margin: .6rem 0 0;
  font-variant-numeric: tabular-nums; }
.count small { font-size: 1rem; font-weight: normal; opacity: .7; }
pre, article { border: 1px solid var(--line); border-radius: .5rem; margin: 0 0 1rem; }
pre { white-space: pre-wrap; padding: .6rem .8rem; font-size: .8rem; }
article { padding: .8rem 1rem; }
.id { font: .75rem ui-monospace, monospace; opacity: .7; margin: .1rem 0 .6rem; }
.state { margin: .4rem 0; font-weight: 600; }
.times { margin: .1rem 0 .6rem; opacity: .7; font-size: .85rem; }
.good { color: var(--good); } .bad { color: var(--bad); }
.state.unsure { color: var(--unsure); font-weight: normal; }
dl { display: grid; grid-template-columns: fit-content(50%) auto 1fr; gap: .25rem 1rem; margin: 0;
  align-items: center; }
dt, dd { min-width: 0; margin: 0; } dd { text-align: right; font-variant-numeric: tabular-nums; }
.bar { height: .5rem; border-radius: .25rem; background: var(--soft); overflow: hidden; }
.bar i { display: block; height: 100%; background: currentColor; opacity: .55; }
.full i { background: var(--good); opacity: 1; }
ul { list-style: none; margin: 0; padding: 0; }
li { display: flex; flex-wrap: wrap; gap: 0 .8rem; justify-content: space-between; padding: .2rem 0;
  border-bottom: 1px solid var(--soft); }
bdi { min-width: 0; flex: 1 1 9.5rem; }
li span { opacity: .75; text-align: right; margin-left: auto; }
li small { opacity: .6; min-width: 1.4rem; font-variant-numeric: tabular-nums; }
.who { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr));
  gap: 1rem; margin-top: 1rem; align-items: start; }
svg { width: 100%; max-width: 22rem; height: auto; display: block; margin: 0 auto; }
line { stroke: currentColor; opacity: .3; } circle { fill: currentColor; }
text { font-size: 3.6px; fill: currentColor; dominant-baseline: middle; text-anchor: middle; }
"""

SCRIPT = """
'use strict';
const MOST_LABELS = 40;
const troubles = {failing: ', does not answer', refusing: ', claims another history',
  excluded: ', claims another history and is asked no more'};
const byId = (id) => document.getElementById(id);
function put(parent, tag, text, kind) {
  const node = document.createElement(tag);
  if (text !== undefined) { node.textContent = text; }
  if (kind) { node.className = kind; }
  parent.append(node);
  return node;
}
function row(list, name, text, number) {
  const item = put(list, 'li');
  if (number !== undefined) { put(item, 'small', number); }
  put(item, 'bdi', name);
  put(item, 'span', text);
}
function phases(parent, session) {
  const list = put(parent, 'dl');
  for (const phase of session.phases) {
    put(put(list, 'dt'), 'bdi', phase.name);
    if (phase.expected === null) {
      put(list, 'dd', phase.entries);
      put(list, 'div');
      continue;
    }
    put(list, 'dd', phase.entries + ' of ' + phase.expected);
    const full = phase.entries >= phase.expected;
    const bar = put(put(list, 'div', undefined, full ? 'bar full' : 'bar'), 'i');
    bar.style.width = full ? '100%' : 100 * phase.entries / phase.expected + '%';
  }
}
function shape(parent, tag, attributes) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) { node.setAttribute(name, value); }
  parent.append(node);
  return node;
}
function graph(parent, session) {
  const count = session.parties.length;
  const at = new Map(session.parties.map((party, i) => {
    const angle = 2 * Math.PI * i / count;
    return [party.id, [Math.sin(angle), -Math.cos(angle)]];
  }));
  const picture = shape(parent, 'svg', {viewBox: '-50 -50 100 100', role: 'img'});
  shape(picture, 'title', {}).textContent = 'Who is connected with whom';
  for (const [a, b] of session.edges) {
    if (!at.has(a) || !at.has(b)) { continue; }
    const [x1, y1] = at.get(a), [x2, y2] = at.get(b);
    shape(picture, 'line', {x1: 40 * x1, y1: 40 * y1, x2: 40 * x2, y2: 40 * y2,
      'stroke-width': .4});
  }
  for (const [i, party] of session.parties.entries()) {
    const [x, y] = at.get(party.id);
    shape(shape(picture, 'circle', {cx: 40 * x, cy: 40 * y, r: 1.4}), 'title', {}).textContent
      = party.name;
    if (count > MOST_LABELS) { continue; }
    shape(picture, 'text', {x: 45 * x, y: 45 * y}).textContent = i + 1;
  }
}
function times(session) {
  const found = [session.entries + (session.entries === 1 ? ' entry' : ' entries')];
  if (session.begun !== null) { found.push('begun ' + when(session.begun)); }
  if (session.last !== null) { found.push('last entry ' + when(session.last)); }
  return found.join(', ');
}
function when(seconds) {
  const date = new Date(1000 * seconds);
  if (isNaN(date)) { return 'at second ' + seconds; }
  return date.toISOString().slice(0, 19).replace('T', ' ') + ' UTC';
}
function show(board) {
  byId('origin').textContent = board.origin;
  byId('size').textContent = board.size;
  byId('checkpoint').textContent = board.checkpoint;
  const witnesses = byId('witnesses'), sessions = byId('sessions');
  witnesses.replaceChildren(); sessions.replaceChildren();
  for (const witness of board.witnesses) {
    const last = witness.time === null ? 'has not cosigned yet' : 'cosigned ' + when(witness.time);
    row(witnesses, witness.name, last + (troubles[witness.state] || ''));
  }
  if (!board.witnesses.length) {
    put(witnesses, 'li', 'none: whoever reads this log trusts its key alone');
  }
  for (const session of board.sessions) {
    const card = put(sessions, 'article');
    put(put(card, 'h3'), 'bdi', session.title || 'Session');
    put(card, 'p', session.id, 'id');
    if (session.state) { put(card, 'p', session.state, 'state ' + session.tone); }
    put(card, 'p', times(session), 'times');
    phases(card, session);
    if (session.parties.length) {
      const who = put(card, 'div', undefined, 'who');
      const list = put(who, 'ul');
      for (const [i, party] of session.parties.entries()) {
        row(list, party.name, party.status, i + 1);
      }
      graph(put(who, 'div'), session);
    }
  }
  if (!board.sessions.length) { put(sessions, 'p', 'no entries yet'); }
}
async function refresh() {
  const state = byId('state');
  try {
    const answer = await fetch('v1/overview', {cache: 'no-store'});
    if (!answer.ok) { throw new Error('status ' + answer.status); }
    show(await answer.json());
    state.textContent = 'live'; state.dataset.bad = 'false';
  } catch (error) {
    state.textContent = 'not reachable: ' + error.message; state.dataset.bad = 'true';
  }
  setTimeout(refresh, 2000);
}
refresh();
"""

PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Bulletin board</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>Bulletin board</h1><span id="origin"></span>
<span id="state" role="status">loading</span>
</header>
<p class="count"><span id="size">0</span> <small>entries in the log</small></p>
<h2>Sessions</h2>
<div id="sessions"></div>
<h2>Witnesses</h2>
<ul id="witnesses"></ul>
<h2>Latest checkpoint</h2>
<pre id="checkpoint"></pre>
<noscript>This page shows the log live with a small script. The log itself is at
<a href="checkpoint">checkpoint</a>.</noscript>
<script>{SCRIPT}</script>
</body>
</html>
"""


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


CONTENT_SECURITY_POLICY = (
    f"default-src 'none'; script-src {_source(SCRIPT)}; style-src {_source(STYLE)}; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
