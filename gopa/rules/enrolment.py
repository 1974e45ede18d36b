"""Who is on the roll of a round, packed, and what parties bring with them from earlier ones."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, overload

from gopa.messages.framing import party_id
from gopa.messages.organiser import Enrolled, Roll
from wire.packed import KeyTable, Rows

_SIZE: Final = 32


class Enrolment(Sequence[Enrolled]):
    """A roll, in about 140 bytes for each party, with the positions by key and the ids."""

    def __init__(self, roll: Roll) -> None:
        self.beacon_round = roll.beacon_round
        self.places = Places()
        self.ids = Rows(_SIZE)
        self._keys = Rows(_SIZE)
        self._hashes: list[bytes] | Rows = []
        if roll.parties and roll.parties[0].nonce_hash:
            self._hashes = Rows(len(roll.parties[0].nonce_hash))
        for each in roll.parties:
            self.places.add(each.author)
            self.ids.append(party_id(each.author))
            self._keys.append(each.key)
            self._hashes.append(each.nonce_hash)

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, place: int) -> Enrolled: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Enrolled]: ...
    def __getitem__(self, place: int | slice) -> Enrolled | Sequence[Enrolled]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        return Enrolled(self.author(at), self._keys[at], self._hashes[at])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Enrolment) and self.roll() == other.roll()

    def __hash__(self) -> int:
        return hash(self.roll())

    def author(self, place: int) -> bytes:
        """The Ed25519 key of the party."""
        return self.places.author(place)

    def key(self, place: int) -> bytes:
        """The key that it agrees on edges with."""
        return self._keys[place]

    def nonce_hash(self, place: int) -> bytes:
        """What its nonce has to fit."""
        return self._hashes[place]

    def roll(self) -> Roll:
        """The roll again."""
        return Roll(tuple(self), self.beacon_round)


class Places(Mapping[bytes, int]):
    """The positions of parties by their Ed25519 keys, in order."""

    def __init__(self) -> None:
        self._authors = KeyTable(_SIZE)

    def add(self, author: bytes) -> None:
        """The party with the next position."""
        self._authors.add(author)

    def author(self, place: int) -> bytes:
        """Whose position this is."""
        return self._authors[place]

    def __getitem__(self, author: bytes) -> int:
        place = self._authors.find(author)
        if place is None:
            raise KeyError(author)
        return place

    def __contains__(self, author: object) -> bool:
        return isinstance(author, bytes) and author in self._authors

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._authors)

    def __len__(self) -> int:
        return len(self._authors)


class FirstSeeds:
    """Every C_y (or A) of the session with the message that held it first ([J5])."""

    def __init__(self) -> None:
        self._seeds, self._authors, self._entries = KeyTable(_SIZE), Rows(_SIZE), array("Q")

    def note(self, seed: bytes, index: int, author: bytes) -> None:
        """A message of the author at this index holds it."""
        if self._seeds.add(seed) == len(self._entries):
            self._authors.append(author)
            self._entries.append(index)

    def first(self, seed: bytes) -> tuple[int, bytes] | None:
        """The index and the author of the first message that held it."""
        number = self._seeds.find(seed)
        return None if number is None else (self._entries[number], self._authors[number])


class FirstInputs:
    """Each party's first C_x of the current logical round ([J5]); modes without any keep none."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """A logical round begins."""
        self._authors, self._inputs = KeyTable(_SIZE), Rows(_SIZE)

    def note(self, author: bytes, given: bytes) -> None:
        """The party takes part with this input."""
        if given and self._authors.add(author) == len(self._inputs):
            self._inputs.append(given)

    def allows(self, author: bytes, given: bytes) -> bool:
        """Whether the party's first input is this one, or there is none yet."""
        number = self._authors.find(author)
        return number is None or self._inputs.holds(number, given)
