"""Secrets stay in: every accidental way out is closed, and arithmetic spreads them."""

from __future__ import annotations

import copy
import json
import logging
import operator
import pickle
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from commitments.group import Group
from tests.group.values import ORDER, random_points
from tests.randomness import seeded
from wire.errors import UsageError
from wire.secret import SecretBytes

VALUE = 0x1D0E5A7_C0FFEE_DEC0DE_FACADE_0DDBA11_5EED


def secrets(group: Group) -> list[Any]:
    return [group.secret_scalar(VALUE), group.secret_scalars([VALUE, VALUE])]


def tells(text: str) -> bool:
    """Whether a text contains the value in a usual notation."""
    data = VALUE.to_bytes(32, "little")
    forms = [str(VALUE), f"{VALUE:x}", data.hex(), data[::-1].hex(), repr(data), repr(data[::-1])]
    shorter = [f"{VALUE:x}"[:12], str(VALUE)[:12], data.hex()[:12]]
    return any(form.lower() in text.lower() for form in forms + shorter)


def test_this_test_knows_a_leak_when_it_sees_one(group: Group) -> None:
    assert tells(str(int(group.secret_scalar(VALUE).reveal())))
    assert tells(f"<Scalar {group.secret_scalar(VALUE).reveal().to_bytes().hex()}>")


@pytest.mark.parametrize(
    "write",
    [repr, str, ascii, "{}".format, "{!r:>100}".format, lambda s: f"{s}", lambda s: f"{[s]}",
     lambda s: f"{s} {s!r}", lambda s: repr({"key": (s,)})],
)  # fmt: skip
def test_text(group: Group, write: Callable[[Any], str]) -> None:
    for secret in secrets(group):
        text = write(secret)
        assert "Secret" in text
        assert not tells(text)


@pytest.mark.parametrize(
    "attempt",
    [
        *(lambda s, p=p: pickle.dumps(s, p) for p in range(pickle.HIGHEST_PROTOCOL + 1)),
        copy.copy, copy.deepcopy, hash, int, float, complex, bytes, operator.index, json.dumps,
        lambda s: s == s, lambda s: s != s, lambda s: s < s, lambda s: s >= s,  # noqa: PLR0124
        lambda s: s == 1, lambda s: s in [1, 2], lambda s: {s: 1}, lambda s: {s},
        lambda s: json.dumps({"key": [s]}), lambda s: pickle.dumps([s]),
        lambda s: s.reveal() == s, lambda s: s == s.reveal(), lambda s: s.reveal() in [s, 2],
        range, lambda s: [1][s], "{:d}".format, lambda s: f"{s:x}",
        lambda s: s.to_bytes(), lambda s: s.ints(), vars, lambda s: s.__dict__,
        iter, list, tuple, set, max, sum, reversed, enumerate, lambda s: [*s],
        lambda s: 1 in s, lambda s: s.reveal() in s, lambda s: next(iter(s)),
    ],
)  # fmt: skip
def test_ways_out(group: Group, attempt: Callable[[Any], Any]) -> None:
    for secret in secrets(group):
        with pytest.raises((UsageError, TypeError, AttributeError)) as caught:
            attempt(secret)
        assert not tells("".join(traceback.format_exception(caught.value)))


def test_no_branch_on_a_secret(group: Group) -> None:
    """Of a vector only the length is told, as everywhere."""
    assert not group.secret_scalars([])
    assert group.secret_scalars([0])
    for value in (0, VALUE):
        with pytest.raises(UsageError) as caught:
            bool(group.secret_scalar(value))
        assert not tells("".join(traceback.format_exception(caught.value)))


@pytest.mark.parametrize(
    "attempt", [hash, copy.copy, copy.deepcopy, pickle.dumps, lambda s: s == 1]
)
def test_the_usual_ways_out_are_usage_errors(group: Group, attempt: Callable[[Any], Any]) -> None:
    for secret in secrets(group):
        with pytest.raises(UsageError):
            attempt(secret)


def test_vectors_do_not_iterate(group: Group) -> None:
    vector: Any = group.secret_scalars([1, 2, 3])
    for attempt in (iter, list, lambda v: 1 in v):
        with pytest.raises(UsageError):
            attempt(vector)
    assert len(vector) == 3


def test_logging(group: Group, caplog: pytest.LogCaptureFixture) -> None:
    for secret in secrets(group):
        logging.getLogger("gopa.tests").warning("%s %r %s", secret, secret, [secret])
    assert len(caplog.records) == 2
    assert not tells(caplog.text)


def test_tracebacks(group: Group) -> None:
    failures: list[Callable[[Any], Any]] = [
        lambda s: s + 1,
        lambda s: s * None,
        lambda s: s - group.generator,
        lambda s: group.generator + s,
        group.scalar,
        lambda s: group.scalars([s]),
        lambda s: group.points([s]),
        lambda s: random_points(group, 2).vartime_msm(s),
        lambda s: group.powers(s, 3),
        lambda s: group.decode_scalars(s, 1),
        lambda s: group.stream(s, bytes(12)),
    ]
    for secret in secrets(group):
        for failure in failures:
            with pytest.raises(UsageError) as caught:
                failure(secret)
            assert not tells("".join(traceback.format_exception(caught.value)))


def everything_secret(group: Group) -> Iterable[tuple[Any, Any]]:
    """Each expression that touches a secret, and the public one of the same value."""
    x, y, z = group.scalar(VALUE), group.scalar(5), group.scalar(7)
    v, w = group.scalars([VALUE, 2]), group.scalars([5, 6])
    for operation in (operator.add, operator.sub, operator.mul):
        yield operation(x.secret(), y), operation(x, y)
        yield operation(y, x.secret()), operation(y, x)
        yield operation(x.secret(), y.secret()), operation(x, y)
        yield operation(v.secret(), w), operation(v, w)
        yield operation(w, v.secret()), operation(w, v)
        yield operation(v.secret(), w.secret()), operation(v, w)
        yield operation(v.secret(), y), operation(v, y)
        yield operation(w, x.secret()), operation(w, x)
        yield operation(v.secret(), y.secret()), operation(v, y)
    yield -x.secret(), -x
    yield -v.secret(), -v
    yield v.secret().sum(), v.sum()
    yield v.secret().inner(w), v.inner(w)
    yield w.inner(v.secret()), w.inner(v)
    yield v.secret().inner(w.secret()), v.inner(w)
    yield v.secret()[0], v[0]
    yield v.secret()[::-1], v[::-1]
    yield v.secret().gather([1, 1]), v.gather([1, 1])
    yield v.secret().concat(w), v.concat(w)
    yield w.concat(v.secret()), w.concat(v)
    yield v.secret().concat(w.secret()), v.concat(w)
    yield (
        group.combine_scalars(group.scalars([5, 7]), [v, w.secret()]),
        group.combine_scalars(group.scalars([5, 7]), [v, w]),
    )
    yield x.secret() * y + z, x * y + z


def test_arithmetic_spreads_secrecy(group: Group) -> None:
    single, vector = map(type, secrets(group))
    for hidden, public in everything_secret(group):
        assert type(hidden) in {single, vector}
        assert hidden.reveal() == public


def test_secret_sources(group: Group) -> None:
    vector = type(group.secret_scalars([1]))
    stream = group.stream(SecretBytes(bytes(32)), bytes(12))
    assert type(group.random_scalars(2, seeded(1))) is vector
    assert type(stream.scalars(2)) is vector


def test_public_arithmetic_stays_public(group: Group) -> None:
    x, v = group.scalar(VALUE), group.scalars([VALUE])
    for public in (x + x, x.inverse(), v + v, v * x, v.sum(), v.inner(v)):
        assert type(public) in {type(x), type(v)}
    combined: Any = group.combine_scalars(v, [v])
    assert combined.ints() == [VALUE * VALUE % ORDER]


def test_streams_and_tables_do_not_travel(group: Group) -> None:
    seed = SecretBytes(VALUE.to_bytes(32, "little"))
    stream = group.stream(seed, bytes(12))
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(UsageError):
            attempt(stream)
    assert not tells(repr(stream))
    assert not tells(repr(group.fixed_bases(random_points(group, 1))))
