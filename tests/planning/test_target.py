"""Every keyword of a plan on all the ways to one: Python, three commands, learning, declearn."""

from __future__ import annotations

import ast
import inspect
from decimal import Decimal
from typing import Any, get_args

import click
import pytest
from click.testing import CliRunner

import gopa
from gopa.aggregation.options import PlanKeywords, RunOptions
from gopa.cli import plan as command
from gopa.cli.session_create import create
from gopa.cli.simulate import simulate
from gopa.learning.federated.setting import _PLANNED, Mode, Setting
from gopa.learning.privacy import Privacy
from gopa.planning.target import KEYWORDS, Course, Inputs, Number, PlannedMode, Target
from tests.architecture.floors import ROOT
from wire.errors import UsageError

OPTIONS = {"range": {"low", "high"}, "open_admission": {"anyone"}}
"""What keywords are called on command lines, where that is something else."""

ASKED: dict[str, Any] = {"epsilon": 2, "delta": "1e-6"}
DEFAULTS = {
    name: keyword.default
    for name, keyword in KEYWORDS.items()
    if keyword.default is not inspect.Parameter.empty
}


def spelled(names: set[str]) -> set[str]:
    """The options for these keywords."""
    return set().union(*(OPTIONS.get(name, {name}) for name in names))


def options_of(made: click.Command) -> dict[str, click.Option]:
    return {each.name or "": each for each in made.params if isinstance(each, click.Option)}


def test_epsilon_alone_has_to_be_said() -> None:
    assert set(Target.__annotations__) == set(KEYWORDS)
    assert KEYWORDS.keys() - DEFAULTS.keys() == {"epsilon"}
    assert Target.__required_keys__ == {"epsilon"}


def test_python_shows_all_keywords_and_takes_them() -> None:
    shown = inspect.signature(gopa.plan).parameters
    assert list(shown) == ["n", *KEYWORDS]
    made = gopa.plan(30, **ASKED)
    assert gopa.plan(n=30, **{**DEFAULTS, **ASKED}) == made
    with pytest.raises(TypeError):
        gopa.plan(n=30)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_of_their_type(name: str) -> None:
    keyword = KEYWORDS[name]
    default = keyword.default
    if default is None:
        assert type(None) in get_args(keyword.kind)
    elif keyword.choices:
        assert default in keyword.choices
    elif name != "range":
        assert isinstance(default, keyword.kinds)


def test_one_command_line_asks_for_what_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    made = gopa.plan(n=30, **ASKED)
    monkeypatch.setattr("gopa.planning.planner.plan", lambda **given: asked.update(given) or made)
    line = ["-n", "30", "--epsilon", "2", "--delta", "1e-6"]
    ended = CliRunner().invoke(command.plan, line)
    assert ended.exit_code == 0
    assert asked.keys() == {"n", *KEYWORDS}
    asked["range"] = tuple(map(Decimal, asked["range"]))
    assert asked == {"n": 30, **DEFAULTS, "epsilon": "2", "delta": "1e-6"}


@pytest.mark.parametrize(
    ("made", "other"),
    [
        (command.plan, set()),
        (create, {"open_admission"}),
        (simulate, {"open_admission", "weighted", "beacon"}),
    ],
    ids=["plan", "session create", "simulate"],
)
def test_commands_have_an_option_for_each(made: click.Command, other: set[str]) -> None:
    options, first = options_of(made), options_of(command.plan)
    wanted = spelled(KEYWORDS.keys() - other)
    assert wanted <= options.keys()
    for name in wanted:
        assert options[name].default == first[name].default
        assert options[name].is_flag == first[name].is_flag
        if name not in {"mode", "trust", "weighted"}:  # which have words of their own there
            assert options[name].help == first[name].help
            assert options[name].type.to_info_dict() == first[name].type.to_info_dict()


@pytest.mark.parametrize("name", KEYWORDS)
def test_options_have_the_type_of_their_keyword(name: str) -> None:
    keyword = KEYWORDS[name]
    for option in (options_of(command.plan)[each] for each in spelled({name})):
        if keyword.choices:
            assert isinstance(option.type, click.Choice)
            assert tuple(option.type.choices) == keyword.choices
        elif keyword.kind is bool:
            assert option.is_flag
        else:
            # Exact numbers, and counts or parts, are read as they were written.
            exact = str in keyword.kinds or name in {"corrupt", "range"}
            known = {int: click.INT, float: click.FLOAT}
            assert option.type is (click.STRING if exact else known[keyword.kinds[0]])


def test_averages_take_all_that_their_values_do_not_decide() -> None:
    own, every = PlanKeywords.__annotations__, Target.__annotations__
    asked = own.keys() - RunOptions.__annotations__.keys()
    decided = Inputs.__annotations__.keys() | Course.__annotations__.keys()
    assert asked == KEYWORDS.keys() - decided
    assert all(own[name] == every[name] for name in asked - {"epsilon"})
    assert own["epsilon"].__forward_arg__ == "Number | None"
    assert KEYWORDS["epsilon"].kind == Number | None


@pytest.mark.parametrize("ask", [gopa.average, gopa.sum, gopa.variance, gopa.LocalAggregator])
def test_keywords_that_others_spell_have_the_same_defaults(ask: Any) -> None:
    shown = inspect.signature(ask).parameters
    same = {name for name in shown.keys() & KEYWORDS.keys() if name != "beacon"}  # of simulations
    assert same
    assert {name: shown[name].default for name in same} == {name: DEFAULTS[name] for name in same}


def test_learning_lets_users_choose_some_and_decides_the_others() -> None:
    """Whoever adds a keyword decides here which of both: a wrong one may break what is hidden."""
    decided = {"epsilon", "delta", "mask", "noise", "path", "objective", "least_chance"}
    inputs = Inputs.__annotations__.keys() | Course.__annotations__.keys()
    assert KEYWORDS.keys() - decided - inputs == _PLANNED
    assert get_args(Mode) == get_args(PlannedMode)
    asked = dict.fromkeys(_PLANNED, None) | {"corrupt": 1, "dropout": 0.0, "attempts": 2}
    made = Setting(Privacy(2.0, 1e-6), seed=1, session=asked).plan(20, 3, 1.0, 1)
    assert (made.terms.corrupt, made.terms.attempts, made.terms.threshold) == (1, 2, None)


def test_declearn_takes_the_defaults_from_here() -> None:
    """Read and not imported, as declearn is seldom there; its own tests run the class."""
    text = (ROOT / "gopa" / "plugins" / "declearn" / "server.py").read_text()
    (config,) = (
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and node.name == "GopaSecaggConfigServer"
    )
    fields = {
        ast.unparse(each.target): (ast.unparse(each.annotation), ast.unparse(each.value))
        for each in config.body
        if isinstance(each, ast.AnnAssign) and each.value is not None
    }
    assert {name: fields[name] for name in fields.keys() & KEYWORDS.keys()} == {
        "mode": ("str", repr(DEFAULTS["mode"])),
        "epsilon": ("Optional[float]", "None"),
        "delta": ("Optional[float]", "None"),
        "corrupt": ("float", "CORRUPT"),
        "dropout": ("float", "DROPOUT"),
    }


@pytest.mark.parametrize(
    "ask",
    [
        lambda **words: gopa.plan(n=30, **ASKED, **words),
        lambda **words: gopa.average([0.5] * 10, **ASKED, **words),
        lambda **words: gopa.sum([0.5] * 10, **ASKED, **words),
        lambda **words: gopa.variance([0.5] * 10, **ASKED, **words),
        lambda **words: gopa.histogram([0.5] * 10, bins=2, range=(0, 1), **ASKED, **words),
    ],
    ids=["plan", "average", "sum", "variance", "histogram"],
)
def test_unknown_keywords_are_refused_alike(ask: Any) -> None:
    assert ask(dropout=0.0)
    with pytest.raises(UsageError) as error:
        ask(dropuot=0.0)
    assert error.value.field == "dropuot"
