"""No changed proof passes: every byte, every scalar out of range, every length."""

from __future__ import annotations

from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commitments.group import Group
from tests.group.backends import proving_groups
from tests.pace import examples
from tests.zkp.bits.samples import KINDS, Sample, sample
from wire.errors import InvalidProof, MalformedMessage, ProtocolError

GROUPS = st.sampled_from(proving_groups())


@lru_cache
def small(group: Group) -> tuple[Sample, bytes]:
    made = sample(group, 2, ["committed", "1"])
    proof = made.prove()
    made.verify(proof)
    return made, proof


def test_every_byte_counts(group: Group) -> None:
    made, proof = small(group)
    for at in range(len(proof)):
        changed = bytearray(proof)
        changed[at] ^= 1 << at % 8
        with pytest.raises(ProtocolError) as refused:
            made.verify(bytes(changed))
        if isinstance(refused.value, MalformedMessage):
            assert refused.value.field == "proof"
            assert refused.value.offset == at - at % 32
        else:
            assert isinstance(refused.value, InvalidProof)
            assert refused.value.check in {"06-A9", "06-A10"}


def require_changes_refused(group: Group, bits: int, kind: str, data: st.DataObject) -> None:
    """Any stretch of a valid proof replaced by any other bytes."""
    made = sample(group, bits, [kind, "committed"])
    proof = made.prove()
    made.verify(proof)
    at = data.draw(st.integers(0, len(proof) - 1))
    end = data.draw(st.integers(at, len(proof)))
    replacement = data.draw(st.binary(max_size=64))
    changed = proof[:at] + replacement + proof[end:]
    if changed == proof:
        return
    with pytest.raises(ProtocolError):
        made.verify(changed)


MUTATIONS = (GROUPS, st.integers(1, 60), st.sampled_from(KINDS), st.data())


@given(*MUTATIONS)
@settings(max_examples=examples(40), deadline=None)
def test_any_change_is_refused(group: Group, bits: int, kind: str, data: st.DataObject) -> None:
    require_changes_refused(group, bits, kind, data)


@pytest.mark.soak
@given(*MUTATIONS)
@settings(max_examples=20_000, deadline=None)
def test_twenty_thousand_changes_are_refused(
    group: Group, bits: int, kind: str, data: st.DataObject
) -> None:
    require_changes_refused(group, bits, kind, data)


def test_scalars_are_canonical(group: Group) -> None:
    made, proof = small(group)
    for at in range(32 * made.shape().layout.point_count, len(proof), 32):
        scalar = int.from_bytes(proof[at : at + 32], "little")
        for value in (scalar + group.order, group.order, 2**256 - 1):
            changed = proof[:at] + value.to_bytes(32, "little") + proof[at + 32 :]
            with pytest.raises(MalformedMessage) as refused:
                made.verify(changed)
            assert refused.value.offset == at


def test_points_are_canonical_and_not_the_identity(group: Group) -> None:
    made, proof = small(group)
    bad = [bytes(32), b"\x01" + bytes(31), b"\xff" * 32, bytes(31) + b"\x80"]
    for at in range(0, 32 * made.shape().layout.point_count, 32):
        for encoding in bad:
            with pytest.raises(MalformedMessage) as refused:
                made.verify(proof[:at] + encoding + proof[at + 32 :])
            assert refused.value.offset == at


def test_messages_keep_their_places(group: Group) -> None:
    made = sample(group, 8, ["committed"])
    proof = made.prove()
    made.verify(proof)
    pieces = [proof[at : at + 32] for at in range(0, len(proof), 32)]
    for first in range(len(pieces) - 1):
        swapped = list(pieces)
        swapped[first], swapped[first + 1] = pieces[first + 1], pieces[first]
        with pytest.raises(ProtocolError):
            made.verify(b"".join(swapped))
