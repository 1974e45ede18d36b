"""A vault that stops at any operation is as before the call or as after it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from bulletin_board.client.state import ClientState
from gopa.sessions.vault import DirectoryVault, Secret, VaultBroken
from tests.board.faults import How, Killed, Plan
from tests.sessions.vault.faults import PowerLossFiles, StoppingFiles, files_in
from tests.sessions.vault.tools import SECRET_NAMES, SECRETS, opened

SEALED = pytest.mark.parametrize("secret", SECRETS, ids=SECRET_NAMES)


OLD = (b"old memory", (b"one", b"two"))


Act = Callable[[DirectoryVault], None]


def begin(vault: DirectoryVault) -> None:
    vault.begin(b"new memory")


def append(vault: DirectoryVault) -> None:
    vault.append(b"three", b" of three")


AFTER: dict[Act, tuple[bytes, tuple[bytes, ...]]] = {
    begin: (b"new memory", ()),
    append: (OLD[0], (*OLD[1], b"three of three")),
}


ACTS = pytest.mark.parametrize("act", [begin, append], ids=["begin", "append"])


@pytest.fixture(params=SECRETS, ids=SECRET_NAMES)
def template(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Secret | None]:
    path, secret = tmp_path / "template", request.param
    vault = opened(path, secret)
    vault.begin(OLD[0])
    for each in OLD[1]:
        vault.append(each)
    vault.close()
    return path, secret


def schedules(
    template: tuple[Path, Secret | None], act: Act, how: How, make: Callable[[Plan], StoppingFiles]
) -> Iterator[tuple[Path, StoppingFiles, bool]]:
    """Stop the act at each of its operations in turn; whether it came to its end."""
    original, secret = template
    for at in range(200):
        path = original.with_name(f"{how}-{at}")
        shutil.copytree(original, path)
        plan = Plan(at=at, how=how)
        files = make(plan)
        if isinstance(files, PowerLossFiles):
            files.settle(path)
        vault = opened(path, secret, files)
        plan.armed, done = True, False
        try:
            act(vault)
            done = True
        except (Killed, VaultBroken):
            pass
        plan.armed = False
        reached = len(plan.steps) > at
        vault.close()
        yield path, files, done
        if not reached:
            return
    pytest.fail("the act never came to its end")


def found(path: Path, secret: Secret | None) -> tuple[bytes | None, tuple[bytes, ...]]:
    vault = opened(path, secret)
    state = vault.memory(), vault.journal()
    vault.close()
    return state


@ACTS
@pytest.mark.parametrize("how", ["kill", "error", "error-after"])
def test_old_or_new(template: tuple[Path, Secret | None], act: Act, how: How) -> None:
    seen = []
    for path, _, done in schedules(template, act, how, StoppingFiles):
        state = found(path, template[1])
        assert state in (OLD, AFTER[act])
        assert not done or state == AFTER[act]
        seen.append(state == OLD)
        left = {each.name for each in files_in(path)}
        generation = 1 if state[0] == OLD[0] else 2
        assert left == {"seal", "current", f"memory-{generation}", f"journal-{generation}"}
    assert True in seen
    assert len(seen) > (3 if act is append else 12)
    if act is begin and how == "kill":
        assert seen == sorted(seen, reverse=True)  # one operation decides


@pytest.mark.slow
@ACTS
@pytest.mark.parametrize("eager", [False, True], ids=["late names", "early names"])
def test_loss_of_power(template: tuple[Path, Secret | None], act: Act, eager: bool) -> None:
    seen = []
    make = partial(PowerLossFiles, eager=eager)
    for path, files, done in schedules(template, act, "kill", make):
        assert isinstance(files, PowerLossFiles)
        files.lose_power(path)
        state = found(path, template[1])
        assert state in (OLD, AFTER[act])
        assert not done or state == AFTER[act]
        seen.append(state == OLD)
    assert set(seen) == {True, False}


@pytest.mark.parametrize("how", ["kill", "error"])
def test_a_crash_while_a_vault_is_made(how: How, tmp_path: Path) -> None:
    secret = SECRETS[1]
    for at in range(100):
        path, plan = tmp_path / f"{how}-{at}", Plan(at=at, how=how, armed=True)
        vault = None
        try:
            vault = opened(path, secret, StoppingFiles(plan))
            vault.begin(b"memory")
        except (Killed, VaultBroken):
            pass
        plan.armed = False
        if vault is not None:
            vault.close()
        again = opened(path, secret)
        assert again.memory() in (None, b"memory")
        again.begin(b"later")
        assert again.memory() == b"later"
        again.close()
        if len(plan.steps) <= at:
            assert at > 12
            return
    pytest.fail("a vault is never made")


def test_a_crash_while_leftovers_are_removed(template: tuple[Path, Secret | None]) -> None:
    """Whoever opens a vault behind a crash may crash too."""
    original, secret = template
    plan = Plan(at=9, how="kill")
    vault = opened(original, secret, StoppingFiles(plan))
    plan.armed = True
    with pytest.raises(Killed):
        begin(vault)
    vault.close()
    for at in range(60):
        path = original.with_name(f"again-{at}")
        shutil.copytree(original, path)
        plan = Plan(at=at, how="kill", armed=True)
        try:
            opened(path, secret, StoppingFiles(plan)).close()
        except Killed:
            assert found(path, secret) == OLD
            continue
        assert at > 2
        return
    pytest.fail("the vault is never opened")


CHANGES: Final = frozenset({"open", "os.rename", "os.chmod", "os.mkdir", "os.remove"})


MOST: Final = 100


ActKilled = Callable[[Path], None]


def store(path: Path) -> None:
    _board(path).store(b"new")


def keep_evidence(path: Path) -> None:
    _board(path).keep_evidence(b"a fork")


def keep_unproven(path: Path) -> None:
    _board(path).keep_unproven(b"new pair")


def make(path: Path) -> None:
    """A vault that was not there."""
    opened(path / "another").begin(b"memory")


def _board(path: Path) -> ClientState:
    return opened(path).board


def killed_at(number: int, act: ActKilled, path: Path) -> bool:
    """Do it in a process that is killed before it changes a file for so many times.

    Whether it was: it has come to its end otherwise.
    """
    child = os.fork()
    if not child:
        code = 1
        try:
            os.umask(0o022)  # as on most systems: others may read what is made without care
            _die_before(number)
            act(path)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, -signal.SIGKILL}
    return code != 0


def _die_before(number: int) -> None:
    left = number

    def hook(event: str, _: object) -> None:
        nonlocal left
        if event in CHANGES:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that share this one's memory")
@pytest.mark.parametrize("act", [store, keep_evidence, keep_unproven, make])
def test_the_vault_opens_again(act: ActKilled, tmp_path: Path) -> None:
    for number in range(MOST):
        path = tmp_path / str(number)
        made = opened(path)
        made.begin(b"memory")
        made.board.store(b"old")
        made.board.keep_unproven(b"old pair")
        made.close()
        killed = killed_at(number, act, path)
        again = opened(path)
        assert again.board.load() in {b"old", b"new"}
        assert again.board.unproven() in {b"old pair", b"new pair"}
        assert again.memory() == b"memory"
        again.close()
        opened(path / "another").close()
        if not killed:
            assert number > 3
            return
    pytest.fail("it never came to its end")
