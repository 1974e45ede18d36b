"""Lets a party take part with parties that it knows, in a session of the form it was told."""

from __future__ import annotations

from dataclasses import dataclass

from gopa.contract.manifest import Manifest, Roster
from gopa.protocol.party import LocalPolicy, Refusal


@dataclass(frozen=True, slots=True, repr=False)
class KnownRoster(LocalPolicy):
    """A policy that also asks that nobody is on the roster but `known`, if that is not None.

    Else a server could fill the session with parties of its own and subtract their values. With a
    `title` the manifest has to have it: it says how values become integers, so that parties that
    were told different things, and whose values would come to nothing, are in no session together.
    """

    known: frozenset[bytes] | None = None
    title: str | None = None

    @classmethod
    def of(
        cls, policy: LocalPolicy, known: frozenset[bytes] | None, title: str | None
    ) -> KnownRoster:
        """This policy, the roster and the title."""
        given = {name: getattr(policy, name) for name in LocalPolicy.__dataclass_fields__}
        return cls(**given, known=known, title=title)

    def require(self, manifest: Manifest, author: bytes) -> None:
        """Require what every policy does; then title and roster."""
        LocalPolicy.require(self, manifest, author)
        if self.title is not None and manifest.title != self.title.encode():
            raise Refusal("the session sums other numbers than this party was told", "layout")
        if self.known is None:
            return
        keys = manifest.admission.keys if isinstance(manifest.admission, Roster) else ()
        strangers = sorted(set(keys) - self.known - {author})
        if strangers or not keys:
            first = strangers[0].hex() if strangers else "anybody"
            raise Refusal(f"a party that you do not know is on the roster: {first}", "roster")
