"""Writes down a party in the middle of a round, so that a call goes on where the last one ended.

A checkpoint is read by the library that wrote it and by nobody else: it says by which version, and
another one refuses it. So its form is that of the classes in `gopa.protocol.party.states`, field
by field, and it has no description of its own. It is sealed with the state
(12-N4): what is read back was written by this party, in this session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from commitments import Opening, Pedersen
from gopa.contract.organiser import CLOSE, Close
from gopa.contract.party import About
from gopa.contract.phases import Phase
from gopa.graph import Graph
from gopa.protocol.party import Fetch, Part, PartyState, Post, states
from gopa.protocol.party.chain import Chain
from gopa.protocol.party.reading import Closed, DecodedRoll, RoundView, read_enrolment
from gopa.protocol.party.rows import kept_input
from gopa.rounds.context import RoundContext, opening_of
from gopa.rounds.masks import EdgeMasks, Share, SharedPoint
from gopa.rounds.rows.inputs import RowNoise
from gopa.sessions.parties.memory import CHAIN, FAILURE, RestoreContext
from gopa.sessions.tunnel.rows import read_noise, read_words, write_noise, write_words
from gopa.sessions.tunnel.slots import NAME_SIZE, LateBytes, LateIntegers, Slots
from gopa.sessions.vault.interface import StateDiverged
from gopa.support.version import VERSION
from wire.errors import MalformedMessage, UsageError
from wire.secret import SecretBytes
from zkp.noise import GaussianTable, NoiseBits, NoiseSeeds, WeightedBits

LARGE: Final = 4_096
"""Bytes from which on a value has a slot of its own."""
_IN_A_SLOT: Final = 2**32 - 1

_CLASSES: Final[tuple[type[Any], ...]] = (
    PartyState,
    states.AttemptCount,
    states.RoundOpened,
    states.BetweenRounds,
    states.Invited,
    states.Outside,
    states.Joined,
    states.Enrolled,
    states.Checking,
    states.EdgeSecret,
    states.RowVectors,
    states.Committed,
    states.Comparing,
    states.Suspicion,
    states.Accusing,
    states.Published,
    states.Reconciling,
    states.Confirmed,
    states.Counting,
    states.Unmasked,
    states.Settled,
    states.Done,
    Fetch,
    Post,
    RoundView,
    Share,
)
_ENUMS: Final[tuple[type[Enum], ...]] = (Phase, Part, About)
_MASKS: Final = b"masks follow from the keys of edges"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a state is restored with, besides its checkpoint."""

    session: RestoreContext
    slots: Slots


def late(data: bytes, given: Surroundings) -> bytes | LateBytes:
    """The bytes; where they are many, in a slot that only calls that need them open."""
    return data if len(data) < LARGE else LateBytes(given.slots.put(data), given.slots.get)


def write_state(state: Any, given: Surroundings) -> tuple[bytes, tuple[bytes, ...]]:
    """A checkpoint of this value, and the names of the slots that it needs."""
    writer = _Writer(given)
    writer.data(VERSION.encode())
    writer.value(state)
    return bytes(writer.out), tuple(writer.names)


def read_state(data: bytes, given: Surroundings) -> Any:
    """The value of a checkpoint; raises `StateDiverged` for that of another version."""
    reader = _Reader(data, given)
    if reader.data() != VERSION.encode():
        raise StateDiverged("another version of the library wrote this state")
    try:
        found = reader.value()
    except (MalformedMessage, UsageError, LookupError, ValueError, TypeError) as error:
        raise StateDiverged(f"the state cannot be read: {type(error).__name__}") from None
    if reader.position != len(data):
        raise StateDiverged("the state has more or less than it says")
    return found


class _Writer:
    """Values written one behind the other; each begins with the number of its form in `_FORMS`."""

    def __init__(self, given: Surroundings) -> None:
        self.out, self.names = bytearray(), dict[bytes, None]()
        self.session, self._slots = given.session, given.slots

    def value(self, value: Any) -> None:
        for number, form in enumerate(_FORMS):
            if isinstance(value, form.kind):
                self.out.append(number)
                form.write(self, value)
                return
        self.out.append(len(_FORMS))
        self.out += value.reveal().to_bytes()  # a secret scalar: its class is that of the backend

    def number(self, value: int, size: int = 4) -> None:
        self.out += value.to_bytes(size, signed=size == 8)

    def data(self, value: bytes) -> None:
        if len(value) < LARGE:
            self.number(len(value))
            self.out += value
        else:
            self.slot(self._slots.put(value))

    def slot(self, name: bytes) -> None:
        self.number(_IN_A_SLOT)
        self.names[name] = None
        self.out += name

    def several(self, values: Any) -> None:
        self.number(len(values))
        for each in values:
            self.value(each)


class _Reader:
    """What a `_Writer` has written, read back."""

    def __init__(self, data: bytes, given: Surroundings) -> None:
        self.position, self.session, self.slots = 0, given.session, given.slots
        self._data = data

    @property
    def group(self) -> Any:
        return self.session.group

    def take(self, size: int) -> bytes:
        """So many bytes; `read_state` sees it if there were fewer."""
        begin, self.position = self.position, self.position + size
        return self._data[begin : self.position]

    def number(self, size: int = 4) -> int:
        return int.from_bytes(self.take(size), signed=size == 8)

    def data(self) -> bytes:
        size = self.number()
        return self.slots.get(self.take(NAME_SIZE)) if size == _IN_A_SLOT else self.take(size)

    def slot(self) -> bytes:
        """The name of a slot, behind the number that says that there is one."""
        self.number()
        return self.take(NAME_SIZE)

    def value(self) -> Any:
        number = self.number(1)
        if number == len(_FORMS):
            return self.group.decode_scalars(self.take(32), 1).secret()[0]
        return _FORMS[number].read(self)

    def several(self) -> tuple[Any, ...]:
        return tuple(self.value() for _ in range(self.number()))


@dataclass(frozen=True, slots=True)
class _Form:
    """How values of one kind are written and read."""

    kind: Any
    write: Callable[[_Writer, Any], None]
    read: Callable[[_Reader], Any]


def _write_record(writer: _Writer, value: Any) -> None:
    writer.number(_CLASSES.index(type(value)), 1)
    for each in fields(value):
        writer.value(getattr(value, each.name))


def _read_record(reader: _Reader) -> Any:
    kind = _CLASSES[reader.number(1)]
    found = {each.name: reader.value() for each in fields(kind)}
    if kind is states.Committed and found["masks"] == _MASKS:
        keys = [found["edges"][v].key for v in found["view"].neighbours]
        found["masks"] = found["view"].context.edge_masks(keys)
    if kind is states.Published and found["unproved"] is not None:
        found["unproved"] = found["unproved"].unproved(found)
    return kind(**found)


def _write_enum(writer: _Writer, value: Enum) -> None:
    writer.number(_ENUMS.index(type(value)), 1)
    writer.number(value.value, 1)


def _write_mapping(writer: _Writer, value: Mapping[int, Any]) -> None:
    writer.several([part for item in value.items() for part in item])


def _read_mapping(reader: _Reader) -> Mapping[int, Any]:
    found = reader.several()
    return MappingProxyType(dict(zip(found[::2], found[1::2], strict=True)))


def _write_array(writer: _Writer, value: Any) -> None:
    writer.data(value.dtype.str.encode())
    writer.data(value.tobytes())


def _read_array(reader: _Reader) -> Any:
    kind = reader.data().decode()
    return np.frombuffer(reader.data(), dtype=kind)


def _write_graph(writer: _Writer, graph: Graph) -> None:
    _write_array(writer, graph.offsets)
    _write_array(writer, graph.targets)


@lru_cache(maxsize=16)
def _graph(*parts: bytes) -> Graph:
    """Shared by all parties of a process that are in the same round."""
    offsets, targets = (
        np.frombuffer(data, dtype=kind.decode())
        for kind, data in zip(parts[::2], parts[1::2], strict=True)
    )
    return Graph(offsets, targets)


@lru_cache(maxsize=32)
def _roll_bytes(enrolment: DecodedRoll) -> bytes:
    return CLOSE.encode(Close(bytes(32), 0, bytes(32), Phase.JOIN, b"", enrolment.roll))


def _write_opening(writer: _Writer, value: Opening) -> None:
    writer.data(value.values.reveal().to_bytes())
    writer.data(value.blindings.reveal().to_bytes())


def _scalars(reader: _Reader) -> Any:
    data = reader.data()
    return reader.group.decode_scalars(data, len(data) // 32).secret()


def _read_opening(reader: _Reader) -> Opening:
    return Opening(reader.session.context(1).key, _scalars(reader), _scalars(reader))


def _write_input(writer: _Writer, given: states.RoundInput) -> None:
    values = given.values
    writer.number(given.logical)
    writer.number(len(values))
    if isinstance(values, LateIntegers):
        writer.slot(values.name)
    else:
        writer.data(np.array(values, dtype=_narrow(writer.session)).tobytes())
    writer.data(given.blindings)
    writer.data(given.commitment)


def _narrow(session: RestoreContext) -> str:
    """How integers of the grid are written: in rows in the fewest bytes that hold the largest."""
    if not session.context(1).in_rows:
        return "<i8"
    return np.min_scalar_type(session.manifest.terms.steps).newbyteorder("<").str


def _read_input(reader: _Reader) -> states.RoundInput:
    logical, count = reader.number(), reader.number()
    values: Any
    kind = _narrow(reader.session)
    if np.dtype(kind).itemsize * count < LARGE:
        values = tuple(np.frombuffer(reader.data(), dtype=kind).tolist())
    else:
        values = LateIntegers(reader.slot(), count, reader.slots.get, kind)
    blinding, commitment = reader.data(), reader.data()
    if not blinding:
        return states.RoundInput(logical, values)
    context, group = reader.session.context(1), reader.group
    if context.in_rows:
        return kept_input(context, blinding, commitment, states.RoundInput(logical, values))
    scalar = group.decode_scalars(blinding, 1).secret()[0]
    opening = opening_of(context.key, group.secret_scalars(np.array(values)), scalar)
    return states.RoundInput(logical, values, opening, commitment)


def _write_seeds(writer: _Writer, seeds: NoiseSeeds) -> None:
    _write_opening(writer, seeds.opening)


def _read_seeds(reader: _Reader) -> NoiseSeeds:
    table, key = reader.session.manifest.terms.noise, Pedersen(reader.group)
    if not isinstance(table, GaussianTable):
        raise TypeError("another noise")
    return NoiseSeeds(table, Opening(key, _scalars(reader), _scalars(reader)))


def _write_bits(writer: _Writer, kept: NoiseBits) -> None:
    for part in kept.reveal():
        writer.data(part)


def _read_bits(reader: _Reader) -> NoiseBits:
    law = reader.session.manifest.terms.noise
    if not isinstance(law, WeightedBits):
        raise TypeError("another noise")
    plan = law.plan(reader.session.context(1).noise_setting)
    return NoiseBits.kept(plan, reader.data(), reader.data(), reader.data())


def _write_closed(writer: _Writer, closed: Closed) -> None:
    writer.data(closed.body)
    writer.data(closed.leaf)


def _read_closed(reader: _Reader) -> Closed:
    body = reader.data()
    return Closed(CLOSE.decode(body), body, reader.data())


_FORMS: Final = (
    _Form(type(None), lambda _, __: None, lambda _: None),
    _Form(bool, lambda writer, value: writer.number(value, 1), lambda reader: reader.number(1) > 0),
    _Form(_ENUMS, _write_enum, lambda reader: _ENUMS[reader.number(1)](reader.number(1))),
    _Form(int, lambda writer, value: writer.number(value, 8), lambda reader: reader.number(8)),
    _Form(bytes, _Writer.data, _Reader.data),
    _Form(tuple, _Writer.several, _Reader.several),
    _Form(
        frozenset,
        lambda writer, value: writer.several(sorted(value)),
        lambda reader: frozenset(reader.several()),
    ),
    _Form(Mapping, _write_mapping, _read_mapping),
    _Form(_CLASSES, _write_record, _read_record),
    _Form(
        SecretBytes,
        lambda writer, value: writer.data(value.reveal()),
        lambda reader: SecretBytes(reader.data()),
    ),
    _Form(np.ndarray, _write_array, _read_array),
    _Form(
        RoundContext,
        lambda writer, value: writer.number(value.round),
        lambda reader: reader.session.context(reader.number()),
    ),
    _Form(
        DecodedRoll,
        lambda writer, value: writer.data(_roll_bytes(value)),
        lambda reader: read_enrolment(reader.data()),
    ),
    _Form(Graph, _write_graph, lambda reader: _graph(*(reader.data() for _ in range(4)))),
    _Form(
        SharedPoint,
        lambda writer, value: writer.data(value.reveal().to_bytes()),
        lambda reader: SharedPoint(reader.group.decode_point(reader.data())),
    ),
    _Form(
        Chain,
        lambda writer, value: writer.data(CHAIN.encode(value)),
        lambda reader: CHAIN.decode(reader.data()),
    ),
    _Form(
        states.Stopped,
        lambda writer, value: writer.data(FAILURE.encode(value.error)),
        lambda reader: states.Stopped(FAILURE.decode(reader.data())),
    ),
    _Form(Opening, _write_opening, _read_opening),
    _Form(states.RoundInput, _write_input, _read_input),
    _Form(states.UnprovedWords, write_words, read_words),
    _Form(RowNoise, write_noise, read_noise),
    _Form(Closed, _write_closed, _read_closed),
    _Form(NoiseSeeds, _write_seeds, _read_seeds),
    _Form(NoiseBits, _write_bits, _read_bits),
    _Form(
        LateBytes,
        lambda writer, value: writer.slot(value.name),
        lambda reader: LateBytes(reader.slot(), reader.slots.get),
    ),
    _Form(EdgeMasks, lambda writer, _: writer.data(_MASKS), lambda reader: reader.data()),
)
"""The forms in the order in which a value is matched: a bool is an int, and an enum may be."""
