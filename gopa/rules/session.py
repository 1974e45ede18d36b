"""The manifest: what it is worth ([S1] to [S3])."""

from __future__ import annotations

from collections.abc import Mapping

from gopa.messages.framing import Message
from gopa.messages.limits import chunks_of, largest_body
from gopa.messages.manifest import MANIFEST, Manifest, session_id
from gopa.messages.phases import Kind, Phase
from gopa.planning.joined import Worth, guarantee, judge
from gopa.rules.verdict import BreaksRule
from wire.errors import GopaError, MalformedMessage, UsageError


def is_manifest(message: Message, session: bytes) -> bool:
    """Whether this is the message whose hash names the session ([S1])."""
    return message.kind == Kind.MANIFEST and session_id(message.body) == session


def read_manifest(message: Message) -> Manifest:
    """[S2]; raises `BreaksRule`."""
    try:
        manifest = MANIFEST.decode(message.body)
    except (MalformedMessage, UsageError) as error:
        raise BreaksRule("04-S2", str(error)) from None
    if manifest.organiser != message.author:
        raise BreaksRule("04-S2", "the manifest names another organiser than its author")
    return manifest


def chunk_limits(manifest: Manifest) -> Mapping[Phase, int]:
    """How many entries a message of each phase takes at most ([S4]).

    Raises `BreaksRule` for a session in which nobody could prove anything: its vectors
    are too long for one proof.
    """
    try:
        return {phase: chunks_of(largest_body(manifest, phase)) for phase in Phase}
    except UsageError as error:
        raise BreaksRule("04-S2", error.message) from None


def require_worth(manifest: Manifest) -> None:
    """[S3]: the terms keep what they claim; raises `BreaksRule`.

    Terms that are too close to call are let pass: see `is_undecided`.
    """
    terms = manifest.terms
    try:
        found = judge(terms)
    except GopaError as error:
        raise BreaksRule("04-S3", f"the terms cannot be evaluated: {error}") from None
    if found is Worth.BROKEN:
        worth = guarantee(terms).total
        raise BreaksRule("04-S3", f"delta {terms.delta} is claimed, {worth:.3g} holds")


def is_undecided(manifest: Manifest) -> bool:
    """Whether the delta of the terms is too close to what holds to be judged ([S3])."""
    return judge(manifest.terms) is Worth.UNDECIDED
