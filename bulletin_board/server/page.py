"""The page at the board's root: one document, no outside assets, names never as markup."""

from __future__ import annotations

import base64
import hashlib

STYLE = """
:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.4; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; margin: 0 0 .5rem; }
h2 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1rem 0 .25rem; }
pre { white-space: pre-wrap; padding: .6rem; border: 1px solid #8886; border-radius: .4rem; }
dl { display: grid; grid-template-columns: fit-content(50%) 1fr; gap: .2rem 1rem; margin: 0; }
dt, dd { min-width: 0; }
dt { opacity: .7; } dd { margin: 0; font-variant-numeric: tabular-nums; }
ul { margin: 0; padding-left: 1.2rem; }
svg { width: 100%; max-width: 24rem; height: auto; display: block; overflow: hidden; }
line { stroke: currentColor; opacity: .35; } circle { fill: currentColor; }
text { font-size: 5px; fill: currentColor; text-anchor: middle; }
#state[data-bad=true] { color: #c00; font-weight: bold; }
"""

SCRIPT = """
'use strict';
const byId = (id) => document.getElementById(id);
function put(parent, tag, text) {
  const node = document.createElement(tag);
  if (text !== undefined) { node.textContent = text; }
  parent.append(node);
  return node;
}
function pairs(parent, rows) {
  const list = put(parent, 'dl');
  for (const [name, value] of rows) { put(list, 'dt', name); put(list, 'dd', value); }
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
    return [party.id, [50 + 40 * Math.sin(angle), 50 - 40 * Math.cos(angle)]];
  }));
  const picture = shape(parent, 'svg', {viewBox: '0 0 100 100', role: 'img'});
  for (const [a, b] of session.edges) {
    if (!at.has(a) || !at.has(b)) { continue; }
    const [x1, y1] = at.get(a), [x2, y2] = at.get(b);
    shape(picture, 'line', {x1, y1, x2, y2, 'stroke-width': .4});
  }
  for (const party of session.parties) {
    const [cx, cy] = at.get(party.id);
    shape(picture, 'circle', {cx, cy, r: 1.5});
    shape(picture, 'text', {x: cx, y: cy - 3}).textContent = party.name;
  }
}
function show(board) {
  byId('origin').textContent = board.origin;
  byId('size').textContent = board.size;
  byId('checkpoint').textContent = board.checkpoint;
  const witnesses = byId('witnesses'), sessions = byId('sessions');
  witnesses.replaceChildren(); sessions.replaceChildren();
  for (const witness of board.witnesses) {
    const seen = witness.time === null ? 'has not cosigned yet'
      : 'cosigned ' + new Date(1000 * witness.time).toISOString();
    put(witnesses, 'li', witness.name + ': ' + seen);
  }
  if (!board.witnesses.length) { put(witnesses, 'li', 'none configured'); }
  for (const session of board.sessions) {
    put(sessions, 'h3', session.title || session.id);
    pairs(sessions, session.phases.map((phase) => [phase.name, phase.entries]));
    if (session.parties.length) {
      const list = put(sessions, 'ul');
      for (const party of session.parties) { put(list, 'li', party.name + ': ' + party.status); }
      graph(sessions, session);
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
<h1>Bulletin board <span id="origin"></span></h1>
<dl><dt>entries</dt><dd id="size">0</dd><dt>state</dt><dd id="state">loading</dd></dl>
<h2>Latest checkpoint</h2>
<pre id="checkpoint"></pre>
<h2>Witnesses</h2>
<ul id="witnesses"></ul>
<h2>Sessions</h2>
<div id="sessions"></div>
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
