"""Whatever bytes arrive, a codec decodes them to what encodes to them, or says what is wrong."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzzing.codecs import codecs, seeds
from tests.fuzzing.mutations import changed
from wire.errors import MalformedMessage

EXAMPLES = int(os.environ.get("GOPA_FUZZ_EXAMPLES", "20"))
SLOWLY = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


def decodes(name: str, data: bytes) -> bool:
    """Whether it decodes; anything but one spelling, or one kind of error, fails."""
    codec = codecs()[name]
    try:
        value = codec.decode(data)
    except MalformedMessage:
        return False
    assert codec.encode(value) == data
    return True


@pytest.mark.parametrize("name", sorted(codecs()))
def test_what_is_changed_is_refused_or_another_value(name: str) -> None:
    corpus = seeds()[name]
    assert corpus, "no value of this kind is known: add one to the samples"
    assert all(decodes(name, data) for data in corpus)

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=SLOWLY)
    @given(data=changed(corpus))
    def run(data: bytes) -> None:
        decodes(name, data)

    run()


@pytest.mark.parametrize("name", sorted(codecs()))
def test_any_bytes(name: str) -> None:
    @settings(max_examples=EXAMPLES, deadline=None)
    @given(data=st.binary(max_size=400))
    def run(data: bytes) -> None:
        decodes(name, data)

    run()


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(codecs()))
def test_many_changes(name: str) -> None:
    @settings(max_examples=5_000, deadline=None, suppress_health_check=SLOWLY)
    @given(data=changed(seeds()[name], most=6))
    def run(data: bytes) -> None:
        decodes(name, data)

    run()
