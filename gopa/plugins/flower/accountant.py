"""Accounts for privacy in the terms of Flower, exactly instead of by Renyi orders.

Specification: `specs/16-accounting.md`. Sessions of gopa hide what a party contributes, not who
takes part: two neighbours differ by one value ("replace-one"), and a sample saves nothing.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from gopa.accounting import Loss
from gopa.planning import Plan
from wire.errors import MalformedMessage, UsageError

if TYPE_CHECKING:
    from flwr.serverapp import GaussianPrivacyEvent, PrivacyConfig, PrivacySpent

_VERSION: Final = 1
_METHOD: Final = "gopa"


class LossAccountant:
    """A `flwr.serverapp.PrivacyAccountant`: adds up Gaussian releases, and whole sessions.

    `compose_session` counts a session as what its plan promises for all of its rounds. The noise
    multiplier of an event is the noise's standard deviation over the distance of two neighbours
    under the relation of `config`. Sampling is counted at its full cost.

    Raises `UsageError` for a configuration that amplifies by sampling: its sample has to be its
    population, and "replace-one" comes with "without-replacement" in Flower.
    """

    def __init__(self, config: PrivacyConfig) -> None:
        if config.sampling_method.value == "poisson":
            message = 'who takes part is public: take "without-replacement" or "no-amplification"'
            raise UsageError(message, "sampling_method")
        self._config = config
        self._events: list[tuple[GaussianPrivacyEvent, int]] = []
        self._sessions: list[tuple[float, float, int]] = []

    @property
    def config(self) -> PrivacyConfig:
        """The configuration that was passed in."""
        return self._config

    @property
    def num_releases(self) -> int:
        """How many releases there were: events, and rounds of sessions."""
        events = sum(count for _, count in self._events)
        return events + sum(rounds for *_, rounds in self._sessions)

    def compose(self, event: GaussianPrivacyEvent, count: int = 1) -> None:
        """Add equal releases with Gaussian noise."""
        self._require(event, count)
        self._events.append((event, count))

    def compose_session(self, plan: Plan) -> None:
        """Add a session with this plan; raises `UsageError` for one without noise."""
        terms = plan.terms
        if terms.epsilon is None:
            raise UsageError("exact sums have no epsilon: they hide nothing by noise", "plan")
        if self._config.neighboring_relation.value != "replace-one":
            message = 'a plan is about values that change: configure "replace-one"'
            raise UsageError(message, "neighboring_relation")
        self._sessions.append((float(terms.epsilon), float(terms.delta), terms.rounds))

    def get_epsilon(self, delta: float) -> float:
        """The cumulative epsilon at this delta."""
        loss = self._loss()
        return 0.0 if loss is None else loss.epsilon(delta)

    def get_delta(self, epsilon: float) -> float:
        """The cumulative delta at this epsilon."""
        loss = self._loss()
        return 0.0 if loss is None else loss.delta(epsilon)

    def get_privacy_spent(self, delta: float | None = None) -> PrivacySpent:
        """What was spent, at the delta of the configuration if nobody says."""
        from flwr.serverapp import PrivacySpent

        at = self._config.target_delta if delta is None else delta
        return PrivacySpent(self.get_epsilon(at), at, self.num_releases, _METHOD)

    def would_exceed(
        self, event: GaussianPrivacyEvent, max_epsilon: float | None = None, count: int = 1
    ) -> bool:
        """Whether these releases would exceed a limit; nothing is added."""
        limit = self._config.max_epsilon if max_epsilon is None else max_epsilon
        if limit is None or not 0 < limit < float("inf"):
            raise UsageError("give it here or in the configuration", "max_epsilon")
        self._require(event, count)
        loss = self._loss((event, count))
        return loss is not None and loss.epsilon(self._config.target_delta) > limit

    def state_dict(self) -> dict[str, object]:
        """All of it, as JSON can hold it."""
        config = self._config
        return {
            "schema_version": _VERSION,
            "backend": _METHOD,
            "config": {
                "target_delta": config.target_delta,
                "population_size": config.population_size,
                "neighboring_relation": config.neighboring_relation.value,
                "sampling_method": config.sampling_method.value,
                "max_epsilon": config.max_epsilon,
            },
            "events": [
                [each.noise_multiplier, each.sample_size, each.population_size, count]
                for each, count in self._events
            ],
            "sessions": [list(each) for each in self._sessions],
        }

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Put back what `state_dict` gave, under the same configuration.

        Raises `MalformedMessage` for anything else; then nothing has changed.
        """
        from flwr.serverapp import GaussianPrivacyEvent

        mine: dict[str, Any] = self.state_dict()
        if any(state.get(each) != mine[each] for each in ("schema_version", "backend", "config")):
            raise MalformedMessage("the state of another accountant or configuration", "state")
        try:
            given: Any = state
            events = [(GaussianPrivacyEvent(*each[:3]), each[3]) for each in given["events"]]
            sessions = [(float(a), float(b), int(c)) for a, b, c in given["sessions"]]
            for event, count in events:
                self._require(event, count)
        except (KeyError, IndexError, TypeError, ValueError, UsageError) as error:
            raise MalformedMessage(f"no state of an accountant: {error}", "state") from None
        self._events, self._sessions = events, sessions

    def _require(self, event: GaussianPrivacyEvent, count: int) -> None:
        if type(count) is not int or count < 1:
            raise UsageError("a whole number of releases", "count")
        if event.population_size != self._config.population_size:
            raise UsageError("the population of the configuration", "population_size")
        sampled = self._config.sampling_method.value == "without-replacement"
        if sampled and event.sample_size != event.population_size:
            message = "who takes part is public, so a sample saves nothing: give the population"
            raise UsageError(message, "sample_size")

    def _loss(self, *more: tuple[GaussianPrivacyEvent, int]) -> Loss | None:
        """Everything composed. Of a session only the promise counts: the worst law that has it."""
        parts = [
            Loss.gaussian(event.noise_multiplier).repeated(count)
            for event, count in (*self._events, *more)
        ]
        parts += [
            Loss.randomised_response(epsilon).charged(delta) for epsilon, delta, _ in self._sessions
        ]
        return reduce(Loss.then, parts) if parts else None
