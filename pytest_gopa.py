"""What pytest loads of this library: an option and a fixture. The rest is imported when used.

A test that asks for `gopa_aggregator` gets what it uses like the class `LocalAggregator`. With
`--gopa-attacks` it is run once more for each attack, and fails if one does harm.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from gopa.adversary.pipeline import Aggregators

FIXTURE: Final = "gopa_aggregator"
HONEST: Final = "honest"
_OPTION: Final = "--gopa-attacks"
_HELP: Final = (
    "run every test that asks for the fixture gopa_aggregator once more for each attack: "
    "names or families with commas between them; all of them without a value"
)
_NAMES: Final = pytest.StashKey[list[str]]()
_MADE: Final = pytest.StashKey["Aggregators"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--gopa-attacks[=NAMES]`."""
    group = parser.getgroup("gopa", "verifiable secure aggregation")
    group.addoption(_OPTION, nargs="?", const="all", default=None, metavar="NAMES", help=_HELP)


def pytest_configure(config: pytest.Config) -> None:
    """Names that are none end the run before anything is collected."""
    asked = config.getoption(_OPTION)
    config.stash[_NAMES] = [] if asked is None else _attacks(asked)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run without attack, and one for each that was asked for."""
    if FIXTURE in metafunc.fixturenames:
        names = [HONEST, *metafunc.config.stash[_NAMES]]
        metafunc.parametrize(FIXTURE, names, indirect=True)


@pytest.fixture
def gopa_aggregator(request: pytest.FixtureRequest) -> Aggregators:
    """Takes a plan and the settings of `LocalAggregator`, without `script`."""
    from gopa.adversary.pipeline import Aggregators

    made = Aggregators.under(None if request.param == HONEST else request.param)
    request.node.stash[_MADE] = made
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """A session may be run by a fixture: what an attack does to it there is no error either."""
    try:
        yield
    except Exception as error:
        made = _enduring(item, error)
        if made is None:
            raise
        _judge(made)
        pytest.skip(f"{made.name} ended the session before the test")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Judge what came of the sessions, whatever the test itself thinks of it.

    A round that ends without a result may be what an attack is after: a test need not expect it.
    """
    done: object = True
    try:
        done = yield
    except Exception as error:
        if _enduring(pyfuncitem, error) is None:
            raise
    made = pyfuncitem.stash.get(_MADE, None)
    if made is not None:
        _judge(made)
        if not made.applicable:
            pytest.skip(f"{made.name} found no occasion in this test")
    return done


def _enduring(item: pytest.Item, error: Exception) -> Aggregators | None:
    """The aggregators if an attack on them may have this effect; skips what does not apply."""
    made = item.stash.get(_MADE, None)
    if made is None:
        return None
    from gopa.adversary.pipeline import NotApplicable
    from gopa.aggregation import RoundAborted

    if isinstance(error, NotApplicable):
        pytest.skip(f"{made.name}: {error.message}")
    if not isinstance(error, RoundAborted) or not made.disturbed:
        error.add_note(f"under attack: {made.name}")
        return None
    return made


def _judge(made: Aggregators) -> None:
    from gopa.adversary.pipeline import complaints

    if wrong := complaints(made):
        pytest.fail("\n".join(wrong), pytrace=False)


def _attacks(asked: str) -> list[str]:
    """The names that were asked for, each once; `pytest.UsageError` for anything else."""
    from gopa.adversary.attack import SessionAttack
    from gopa.adversary.library import chosen
    from wire.errors import UsageError

    found: dict[str, None] = {}
    for name in filter(None, map(str.strip, asked.split(","))):
        try:
            fitting = [each.name for each in chosen([name]) if isinstance(each, SessionAttack)]
        except UsageError as error:
            file = "/" in name or name.endswith(".py")
            hint = f"; files come before {_OPTION}, or after {_OPTION}=all" if file else ""
            raise pytest.UsageError(f"{_OPTION}: {error}{hint}") from None
        if not fitting:
            message = f"{name}: only parties and organisers misbehave in an aggregator"
            raise pytest.UsageError(f"{_OPTION}: {message}")
        found |= dict.fromkeys(fitting)
    if not found:
        raise pytest.UsageError(f"{_OPTION}: name attacks or families, or give no value for all")
    return list(found)
