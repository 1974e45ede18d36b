"""Writes down what a party in the middle of a round holds of long vectors: nothing made of a seed.

An input follows from the values, noise from its seed, words and carries from both and the keys of
the edges. What remains are blindings, their points and pads. 14-P7:
pads are dropped with the answer that uses them up, and a state is answered once (12-N6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from commitments.group import Group, PointVec, SecretScalarVec
from gopa.protocol.party import states
from gopa.protocol.party.rows import kept_noise, kept_words, no_pads
from gopa.rounds.context import RoundContext
from gopa.rounds.rows.challenges import shape_of
from gopa.rounds.rows.inputs import RowNoise
from gopa.rounds.rows.words import KeptCarries
from wire.secret import Guarded, SecretBytes
from zkp.rows.rows import HiddenPads
from zkp.rows.shape import TESTS

_SCALAR: Final = 32
_PAD: Final = 14
"""The bytes of an entry of a pad: it is below 2^112."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeptWords(Guarded):
    """Holds what is kept of `UnprovedWords`, until keys and seed are read, too."""

    vectors: states.RowVectors
    carries: KeptCarries

    def unproved(self, found: dict[str, Any]) -> states.UnprovedWords:
        """The words of the stage with these fields."""
        keys, seed = found["keys"], found["seed"]
        return kept_words(found["view"], self.vectors, keys, seed, self.carries)


def write_noise(writer: Any, drawn: RowNoise) -> None:
    """The seed, and what hides the noise; pads, if they are not used up."""
    writer.data(drawn.seed.reveal())
    _write_hidden(writer, drawn.rows.blindings, drawn.rows.points)
    _write_pads(writer, drawn.pads)


def read_noise(reader: Any) -> RowNoise:
    """What `write_noise` has written."""
    context = reader.session.context(1)
    seed, blindings, points = SecretBytes(reader.data()), reader.data(), reader.data()
    return kept_noise(context, seed, blindings, points, _read_pads(reader, context))


def write_words(writer: Any, unproved: states.UnprovedWords) -> None:
    """The vectors, and what hides the carries."""
    writer.value(unproved.vectors)
    carries = unproved.masked.carries
    _write_hidden(writer, carries.blindings, carries.points)
    _write_pads(writer, unproved.masked.pads)


def read_words(reader: Any) -> KeptWords:
    """What `write_words` has written."""
    vectors, context = reader.value(), reader.session.context(1)
    blindings = _scalars(context.group, reader.data())
    points = _points(context.group, reader.data())
    carries = KeptCarries(blindings, points, _read_pads(reader, context))
    return KeptWords(vectors, carries)


def _write_hidden(writer: Any, blindings: SecretScalarVec, points: PointVec) -> None:
    writer.data(blindings.reveal().to_bytes())
    writer.data(points.to_bytes())


def _write_pads(writer: Any, pads: HiddenPads) -> None:
    whole = np.frombuffer(pads.values[:TESTS].reveal().to_bytes(), np.uint8)
    writer.data(whole.reshape(-1, _SCALAR)[:, :_PAD].tobytes())
    _write_hidden(writer, pads.blindings, pads.points)


def _read_pads(reader: Any, context: RoundContext) -> HiddenPads:
    group, shape = context.group, shape_of(context)
    entries, blindings, points = reader.data(), reader.data(), reader.data()
    if not entries:
        return no_pads(group)
    whole = np.zeros((shape.pad_rows * shape.width, _SCALAR), np.uint8)
    whole[:TESTS, :_PAD] = np.frombuffer(entries, np.uint8).reshape(TESTS, _PAD)
    values = _scalars(group, whole.tobytes())
    return HiddenPads(values, _scalars(group, blindings), _points(group, points))


def _scalars(group: Group, data: bytes) -> SecretScalarVec:
    return group.decode_scalars(data, len(data) // _SCALAR).secret()


def _points(group: Group, data: bytes) -> PointVec:
    return group.decode_points(data, len(data) // _SCALAR)
