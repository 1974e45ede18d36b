"""Lies about inputs, about noise, and about what is published. Full mode only where not said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gopa.adversary.deeds.kinds import change, copied, flipped, knowing, only_at, require_full
from gopa.adversary.malicious import PROOFS, WEIGHTS, Deed, require_met
from gopa.contract.party import Commit, Join, Publish
from gopa.contract.phases import Phase
from gopa.protocol.party.states import Accusing, Committed, Comparing
from gopa.protocol.simulation import Behaviour
from gopa.protocol.simulation.access import PartyAccess
from gopa.protocol.simulation.party import noise_for_tests
from gopa.protocol.simulation.script import Rounds
from gopa.rounds.context import RoundContext, commit
from wire.errors import UsageError


def shift(by: int) -> Deed:
    """Speaks of a first coordinate that is `by` steps larger: for join, commit and publish.

    At join the committed input is shifted, at commit the committed output, at publish the
    value. A liar that wants to be consistent shifts all three; the proof stays as it was.
    """
    return _spoken_of(lambda _: (by,))


def scale_noise(factor: int) -> Deed:
    """Speaks of noise `factor` times what was drawn, 0 for none: for commit and publish."""

    def difference(access: PartyAccess) -> Sequence[int]:
        noise = _noise(access)
        return [(factor - 1) * each for each in noise]

    return _spoken_of(difference)


def spoil_proof() -> Deed:
    """Commits with one wrong bit in the proof about input and noise."""

    def lie(access: PartyAccess, content: Commit) -> Commit:
        require_full(access)
        return replace(content, proof=flipped(content.proof, 40))

    return only_at(Phase.COMMIT, knowing(lie))


def spoil_weighing() -> Deed:
    """Commits with one wrong bit in the proof that the weight is the largest coordinate."""

    def lie(access: PartyAccess, content: Commit) -> Commit:
        require_met((WEIGHTS, PROOFS), access.manifest)
        return replace(content, weighing=flipped(content.weighing, 40))

    return only_at(Phase.COMMIT, knowing(lie))


def copy_proof(victim: int) -> Deed:
    """Commits to the victim's output with the victim's proof."""

    def mix(own: Commit, theirs: Commit) -> Commit:
        return replace(own, output=theirs.output, proof=theirs.proof)

    return only_at(Phase.COMMIT, copied(victim, mix))


def spoil_value() -> Deed:
    """Publishes another value than the commitments open to. In every mode."""
    return only_at(
        Phase.PUBLISH, change(lambda content: replace(content, value=flipped(content.value)))
    )


def copy_value(victim: int) -> Deed:
    """Publishes the victim's masked value."""

    def mix(own: Publish, theirs: Publish) -> Publish:
        return replace(own, value=theirs.value, blinding=theirs.blinding)

    return only_at(Phase.PUBLISH, copied(victim, mix))


def copy_input(victim: int) -> Deed:
    """Joins with the victim's commitment to its input."""

    def mix(own: Join, theirs: Join) -> Join:
        return replace(own, input=theirs.input)

    return only_at(Phase.JOIN, copied(victim, mix))


def _spoken_of(difference: Callable[[PartyAccess], Sequence[int]]) -> Deed:
    """Adds a difference to whatever the phase says about the values."""
    fields = {Phase.JOIN: "input", Phase.COMMIT: "output"}

    def made(phase: Phase, rounds: Rounds) -> Behaviour:
        if phase is Phase.PUBLISH:
            return knowing(lambda s, c: _publish(s, c, difference(s)))(phase, rounds)
        if phase not in fields:
            raise UsageError("this deed is for join, commit and publish", "at")
        name = fields[phase]

        def altered(access: PartyAccess, content: Any) -> Any:
            said = getattr(content, name)
            if not said and access.manifest.terms.exact:
                return content  # without noise a commit has no output
            moved = _moved(access, said, difference(access))
            return replace(content, **{name: moved})

        return knowing(altered)(phase, rounds)

    return made


def _publish(access: PartyAccess, content: Publish, difference: Sequence[int]) -> Publish:
    require_full(access)
    group, wide = access.toolkit.group, _wide(access, difference)
    values = group.decode_scalars(content.value, len(wide))
    return replace(content, value=(values + group.scalars(wide)).to_bytes())


def _moved(access: PartyAccess, data: bytes, difference: Sequence[int]) -> bytes:
    """The commitment to other values with the same blinding."""
    require_full(access)
    group = access.toolkit.group
    context = RoundContext(access.manifest, access.session, access.round, group)
    values = group.scalars(_wide(access, difference)).secret()
    by = commit(context.key, values, group.scalar(0).secret())
    return (group.decode_point(data) + by.points[0]).to_bytes()


def _wide(access: PartyAccess, difference: Sequence[int]) -> list[int]:
    """The difference with zeros for the coordinates that stay."""
    missing = access.manifest.terms.dimension - len(difference)
    return [*difference, *([0] * missing)]


def _noise(access: PartyAccess) -> Sequence[int]:
    """What it has drawn in this round, from its state when it committed or compared."""
    require_full(access)
    stage = access.state.stage
    if not isinstance(stage, Committed):
        stage = access.before.stage
        stage = stage.comparing if isinstance(stage, Accusing) else stage
        if not isinstance(stage, Comparing):
            raise UsageError("this deed is for commit and publish", "at")
        stage = stage.committed
    state = replace(access.state, stage=stage)
    values = next(each.values for each in state.inputs if each.logical == stage.opened.logical)
    return noise_for_tests(state, access.key.public.data, tuple(values))
