"""The style of a report: light, dark, narrow and on paper. Colours have a contrast of 4.5 or more.

Colour never stands alone: verdicts and statuses have symbols, the graph has shapes and dashes.
"""

from __future__ import annotations

from typing import Final

LIGHT: Final = {
    "page": "#ffffff",
    "card": "#f6f7f9",
    "text": "#1b1f24",
    "soft": "#57606a",
    "line": "#d0d7de",
    "blue": "#0b57a4",
    "good": "#14652f",
    "good-back": "#e3f5e8",
    "part": "#0b57a4",
    "part-back": "#e4effb",
    "open": "#7a4a00",
    "open-back": "#fff2d6",
    "bad": "#a40e26",
    "bad-back": "#fde7e9",
}

DARK: Final = {
    "page": "#14171b",
    "card": "#1d2127",
    "text": "#e6e9ed",
    "soft": "#a3acb7",
    "line": "#3a424c",
    "blue": "#7cb8ff",
    "good": "#6fdd8b",
    "good-back": "#12301c",
    "part": "#7cb8ff",
    "part-back": "#12293f",
    "open": "#f2bd5c",
    "open-back": "#352809",
    "bad": "#ff9a9f",
    "bad-back": "#3c1519",
}


def _variables(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


_RULES: Final = """
* { box-sizing: border-box; }
html { background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, sans-serif;
  -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 58rem; padding: 1.5rem 1.25rem 4rem; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .1rem 0 1.2rem; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .8rem; }
h3 { font-size: 1.05rem; margin: 1.8rem 0 .5rem; }
h4 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: 0 0 .7rem; max-width: 46rem; }
ul { margin: 0 0 .7rem; padding-left: 1.2rem; }
li { margin: .2rem 0; }
.over { color: var(--soft); font-size: .85rem; letter-spacing: .06em; text-transform: uppercase;
  margin: 0; }
.soft, .more { color: var(--soft); }
.more { font-style: italic; font-size: .9rem; margin-top: .4rem; }
code, pre { font: .86em/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  margin: 0 0 .8rem; padding: .7rem .9rem; white-space: pre-wrap; }
.verdict { display: flex; gap: 1.1rem; align-items: center; padding: 1.1rem 1.3rem;
  border: 2px solid currentColor; border-radius: .8rem; }
.verdict h2 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .2rem; }
.verdict p { color: var(--text); margin: 0; }
.verdict .code { color: inherit; font-size: .85rem; margin-top: .35rem; }
.verdict svg { flex: none; width: 3.6rem; height: 3.6rem; }
.banner { display: flex; gap: .8rem; border-left: .35rem solid currentColor; padding: .7rem 1rem;
  border-radius: .3rem; margin: .8rem 0 0; }
.banner p { color: var(--text); margin: 0; }
.banner svg { flex: none; width: 1.35rem; height: 1.35rem; margin-top: .1rem; }
.good { color: var(--good); } .verdict.good, .banner.good { background: var(--good-back); }
.part, .info { color: var(--part); } .banner.info { background: var(--part-back); }
.part { color: var(--part); } .verdict.part, .banner.part { background: var(--part-back); }
.open { color: var(--open); } .verdict.open, .banner.open { background: var(--open-back); }
.bad { color: var(--bad); } .verdict.bad, .banner.bad { background: var(--bad-back); }
.none { color: var(--soft); }
.short { white-space: nowrap; }
.cards { columns: 2; column-gap: 1rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .8rem;
  padding: 1rem 1.2rem .6rem; margin: 0 0 1rem; break-inside: avoid; }
.card h3 { color: var(--soft); font-size: .95rem; font-weight: 600; margin: 0 0 .3rem; }
.figure { font-size: 2.3rem; font-weight: 650; line-height: 1.2; margin: 0 0 .4rem;
  font-variant-numeric: tabular-nums; }
.figure span { white-space: nowrap; }
.figure .error { color: var(--soft); font-size: 1.35rem; font-weight: 500; }
.figure small { color: var(--soft); font-size: 1rem; font-weight: 500; }
.vector { font-size: 1.3rem; }
.bar { display: block; width: 100%; height: .8rem; margin: .2rem 0 .7rem; }
.bar .in { fill: var(--blue); }
.bar rect { vector-effect: non-scaling-stroke; }
.bar .out { fill: var(--page); stroke: var(--open); stroke-width: 2; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; margin: .3rem 0 .9rem; }
caption { color: var(--soft); font-size: .88rem; text-align: left; padding: 0 0 .3rem; }
th, td { border-top: 1px solid var(--line); padding: .4rem .9rem .4rem 0; text-align: left;
  vertical-align: top; font-weight: inherit; }
thead th { overflow-wrap: normal; color: var(--soft); font-size: .82rem; border-top: 0; }
tr > :last-child { padding-right: 0; }
.family { font-weight: 650; padding-top: 1.1rem; }
.checks td:last-child, .checks thead th:last-child { width: 9.5rem; }
.checks th[scope=row] { width: 2.6rem; font-variant-numeric: tabular-nums; color: var(--soft); }
.status { display: inline-flex; gap: .4rem; align-items: center; font-weight: 600; }
.status svg, li > svg { flex: none; width: 1.05rem; height: 1.05rem; }
.why { list-style: none; padding: 0; } .why li { margin: 0 0 .7rem; }
.note { display: block; color: var(--soft); font-size: .86rem; }
dl { display: grid; grid-template-columns: minmax(7rem, 13rem) minmax(0, 1fr); gap: .3rem 1.2rem;
  margin: 0 0 1rem; }
dt { color: var(--soft); } dd { margin: 0; min-width: 0; }
details { margin: .3rem 0 .8rem; }
summary { cursor: pointer; color: var(--blue); width: fit-content; }
summary:focus-visible { outline: 2px solid var(--blue); outline-offset: 3px; }
.keys { columns: 2 24rem; font-size: .85rem; list-style: none; padding: 0; }
.fault { border: 1px solid var(--line); border-left: .3rem solid var(--bad); border-radius: .4rem;
  padding: .8rem 1rem .1rem; margin: 0 0 .9rem; }
.fault.handled { border-left-color: var(--open); }
.fault h4 { margin: 0 0 .3rem; }
.fault .note { margin-bottom: .6rem; }
.fault dl { font-size: .9rem; }
.round { border-top: 2px solid var(--line); }
figure { margin: 1rem 0; }
figure > svg { display: block; width: 100%; max-width: 34rem; height: auto; margin: 0 auto; }
figcaption { color: var(--soft); font-size: .88rem; max-width: 46rem; margin: .5rem auto 0; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.3rem; justify-content: center;
  list-style: none; margin: .4rem 0; padding: 0; font-size: .9rem; }
.legend li { display: flex; gap: .45rem; align-items: center; }
.legend svg { width: 1.6rem; height: 1.1rem; }
.edge { stroke: var(--soft); stroke-width: 1.3; stroke-opacity: .55; fill: none; }
.dense .edge { stroke-width: .8; stroke-opacity: .35; }
.opened { stroke: var(--bad); stroke-width: 3; stroke-dasharray: 9 7; fill: none; }
.legend .edge { stroke-width: 4; stroke-opacity: 1; }
.legend .opened { stroke-width: 6; }
.inside { fill: var(--blue); stroke: var(--page); stroke-width: 2; }
.gone { fill: var(--page); stroke: var(--open); stroke-width: 4; }
.broke { fill: var(--page); stroke: var(--bad); stroke-width: 4; }
.cross { stroke: var(--bad); stroke-width: 4; fill: none; }
.dense .opened { stroke-width: 1.6; stroke-dasharray: 6 5; }
.dense .gone, .dense .broke, .dense .cross { stroke-width: 2; }
.label { fill: var(--text); font: 21px ui-monospace, monospace; dominant-baseline: middle; }
.axis { fill: var(--soft); font: 15px system-ui, sans-serif; }
.stick { fill: var(--blue); }
.whisker { stroke: var(--text); stroke-width: 1.6; fill: none; }
.zero { stroke: var(--soft); stroke-width: 1; fill: none; }
.defs { position: absolute; width: 0; height: 0; }
.mark { fill: currentColor; } .inner { fill: none; stroke: var(--page); stroke-width: 4;
  stroke-linecap: round; stroke-linejoin: round; }
footer { border-top: 1px solid var(--line); color: var(--soft); font-size: .88rem;
  margin-top: 3rem; padding-top: .8rem; }
@media (max-width: 40rem) {
  body { padding: 1rem .9rem 3rem; }
  h1 { font-size: 1.4rem; }
  .cards { columns: 1; }
  .verdict { align-items: flex-start; padding: .9rem 1rem; gap: .8rem; }
  .verdict svg { width: 2.5rem; height: 2.5rem; }
  .verdict h2 { font-size: 1.35rem; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: .5rem; }
  .checks td:last-child, .checks thead th:last-child { width: 7rem; }
}
"""

_PRINT: Final = """
@page { size: A4; margin: 16mm 15mm; }
@media print {
  :root { VARIABLES }
  html { font-size: 9pt; line-height: 1.4; background: none; }
  h1 { margin-bottom: .7rem; } p { margin-bottom: .5rem; }
  .figure { font-size: 1.9rem; }
  body { max-width: none; padding: 0; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .verdict, .banner, .card, .fault, figure, tr, pre, dt, dd { break-inside: avoid; }
  h2, h3, h4, caption, .family { break-after: avoid; }
  table:not(.checks) { break-inside: avoid; }
  .details { break-before: page; }
  h2 { margin-top: 1.6rem; } h3 { margin-top: 1.1rem; }
  th, td { padding-bottom: .22rem; padding-top: .22rem; }
  .family { padding-top: .7rem; }
  .verdict, .card { padding-bottom: .3rem; padding-top: .7rem; }
  .verdict { padding-bottom: .7rem; }
  .card { margin-bottom: .7rem; }
  figure > svg { max-width: 120mm; }
  summary { color: var(--soft); list-style: none; }
  summary::before { content: "(folded) "; }
}
"""

STYLE: Final = (
    f"\n:root {{ color-scheme: light dark; {_variables(LIGHT)} }}"
    f"\n@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}"
    + _RULES
    + _PRINT.replace("VARIABLES", _variables(LIGHT)).lstrip("\n")
)
