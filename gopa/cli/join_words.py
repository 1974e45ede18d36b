"""What `gopa join` tells people and machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gopa.cli.session_progress import Happened, Progress, Standing
from gopa.cli.session_words import PHASE_WORDS
from gopa.party import Part

if TYPE_CHECKING:
    from gopa.messages.manifest import Manifest
    from gopa.sessions.contribution import Contribution
    from gopa.sessions.herald import News

OUTSIDE_WORDS: Final = {
    Part.ACTIVE: "your value is in it",
    Part.LATE: "what you sent came after the end of a phase, or not at all",
    Part.UNWILLING: "you had no value ready, or it asked for more than you accept",
    Part.LOST: "too many of your neighbours were gone",
    Part.UNDATED: "you heard who takes part when the coins could be known to others: see that "
    "your connection and your clock are good, or ask the organiser for a longer --drand-margin",
    Part.TIMED_OUT: "you were away, or nothing was heard for too long",
}
"""Why a party is not in a round. (`ACTIVE` never is a reason.)"""


def joined_line(manifest: Manifest) -> Happened:
    """The session that was joined."""
    terms = manifest.terms
    title = manifest.title.decode("utf-8", "replace") or manifest.session.hex()[:16]
    text = (
        f"session {title}: up to {terms.parties} parties, epsilon {terms.epsilon}, "
        f"delta {terms.delta}, values from {terms.low} to {terms.high}; it assumes that at most "
        f"{terms.corrupt} of them collude"
    )
    facts: dict[str, object] = {
        "session": manifest.session.hex(),
        "parties": terms.parties,
        "corrupt": terms.corrupt,
        "epsilon": str(terms.epsilon),
        "delta": str(terms.delta),
        "dimension": terms.dimension,
    }
    return Happened("joined", text, facts)


def tell(screen: Progress, news: News) -> None:
    """Where a round stands, and whether this party is in it."""
    facts: dict[str, object] = {
        "round": news.round,
        "logical": news.logical,
        "attempt": news.attempt,
        "phase": None if news.opens is None else news.opens.name.lower(),
        "parties": news.present,
        "part": None if news.part is None else news.part.name.lower(),
    }
    if news.opens is None:
        screen.happened(Happened("round over", f"round {news.round} is over", facts))
        screen.standing(None)
        return
    parties = "" if news.present is None else f", {news.present} parties in it"
    text = f"round {news.round}: {PHASE_WORDS[news.opens]}{parties}"
    if news.part is None:
        screen.happened(Happened("phase", text, facts))
        screen.standing(Standing(f"{text}; waiting for the others"))
    else:
        out = f"you are not in this round: {OUTSIDE_WORDS[news.part]}"
        screen.happened(Happened("phase", f"{text}; {out}", facts))
        screen.standing(Standing(f"{text}; {out}; waiting for its end"))


def facts_of(found: Contribution) -> dict[str, object]:
    """What a machine reads; nested values are JSON lists."""
    return {
        "session": found.session.hex(),
        "round": found.round,
        "logical": found.logical,
        "mean": _plain(found.mean),
        "sum": _plain(found.sum),
        "stderr": _plain(found.stderr),
        "parties": found.count,
        "included": found.included,
        "part": found.part.name.lower(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _short(value: Any) -> Any:
    """As many digits as a person reads: noise hides the others."""
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_short(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def sentence(found: Contribution) -> str:
    """What a person reads."""
    why = OUTSIDE_WORDS[found.part]
    yours = "yours is among them" if found.included else f"without yours: {why}"
    return "\n".join(
        [
            f"mean     {json.dumps(_short(_plain(found.mean)))}",
            f"stderr   {json.dumps(_short(_plain(found.stderr)))}",
            f"parties  {found.count}; {yours}",
        ]
    )
