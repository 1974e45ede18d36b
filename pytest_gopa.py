"""What pytest loads of this library: an option and a fixture. The rest is imported when used.

A test that asks for `gopa_aggregator` gets what it uses like the class `LocalAggregator`. With
`--gopa-attacks` it is run once more for each attack, and fails if one does harm.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    from gopa.adversary.pipeline import Aggregators

FIXTURE = "gopa_aggregator"
HONEST = "honest"
_HELP = (
    "run every test that asks for the fixture gopa_aggregator once more for each attack: "
    "names or families with commas between them; all of them without a value"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--gopa-attacks[=NAMES]`."""
    group = parser.getgroup("gopa", "verifiable secure aggregation")
    group.addoption(
        "--gopa-attacks", nargs="?", const="all", default="", metavar="NAMES", help=_HELP
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One run without attack, and one for each that was asked for."""
    if FIXTURE not in metafunc.fixturenames:
        return
    names = [HONEST, *_attacks(metafunc.config.getoption("--gopa-attacks"))]
    metafunc.parametrize(FIXTURE, names, indirect=True)


@pytest.fixture
def gopa_aggregator(request: pytest.FixtureRequest) -> Aggregators:
    """Takes a plan and the settings of `LocalAggregator`, without `script`."""
    from gopa.adversary.pipeline import Aggregators

    return Aggregators.under(None if request.param == HONEST else request.param)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Judge what came of the sessions, whatever the test itself thinks of it.

    A round that ends without a result may be what an attack is after: a test need not expect it.
    """
    made = cast("Aggregators | None", pyfuncitem.funcargs.get(FIXTURE))
    if made is None:
        return (yield)
    from gopa.adversary.pipeline import NotApplicable, complaints
    from gopa.aggregation import RoundAborted

    done: object = True
    try:
        done = yield
    except NotApplicable as error:
        pytest.skip(str(error))
    except RoundAborted:
        if not made.applicable:
            raise
    except Exception as error:
        error.add_note(f"under attack: {made.name}")
        raise
    if wrong := complaints(made):
        pytest.fail("\n".join(wrong), pytrace=False)
    if not made.applicable:
        pytest.skip(f"{made.name} found no occasion in this test")
    return done


def _attacks(asked: str) -> list[str]:
    if not asked:
        return []
    from gopa.adversary.attack import SessionAttack
    from gopa.adversary.library import chosen
    from wire.errors import UsageError

    try:
        found = chosen([name for name in asked.split(",") if name])
    except UsageError as error:
        raise pytest.UsageError(f"--gopa-attacks: {error}") from None
    return [each.name for each in found if isinstance(each, SessionAttack)]
