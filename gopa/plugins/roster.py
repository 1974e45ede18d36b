"""Lets a party take part with parties that it knows, and with nobody else."""

from __future__ import annotations

from dataclasses import dataclass

from gopa.messages.manifest import Manifest, Roster
from gopa.party import LocalPolicy, Refusal


@dataclass(frozen=True, slots=True)
class KnownRoster(LocalPolicy):
    """Asks besides that nobody is on the roster but `known` parties, if that is not None.

    Else a server could fill the session with parties of its own and subtract their values.
    """

    known: frozenset[bytes] | None = None

    @classmethod
    def of(cls, policy: LocalPolicy, known: frozenset[bytes] | None) -> KnownRoster:
        """This policy, and the roster."""
        given = {name: getattr(policy, name) for name in LocalPolicy.__dataclass_fields__}
        return cls(**given, known=known)

    def require(self, manifest: Manifest, author: bytes) -> None:
        """As for every policy; then the roster."""
        LocalPolicy.require(self, manifest, author)
        if self.known is None:
            return
        keys = manifest.admission.keys if isinstance(manifest.admission, Roster) else ()
        strangers = sorted(set(keys) - self.known - {author})
        if strangers or not keys:
            first = strangers[0].hex() if strangers else "anybody"
            raise Refusal(f"a party that you do not know is on the roster: {first}", "roster")
