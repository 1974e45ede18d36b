"""Gets values of a drand beacon from a file or an address, and believes none unverified.

A source is asked for one round and shows JSON as drand relays serve it: an object with
`round`, `signature` and, for chained beacons, `previous_signature`. Other fields are
passed over: the signature proves the value, and nothing else is used.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from bulletin_board.client.http import HttpTransport, NetworkError, Transport
from gopa.contract.beacon import DrandChain, verify_round
from gopa.protocol.rules import BeaconValue
from wire.errors import MalformedMessage, UsageError
from wire.strict_json import read_json

LARGEST_ANSWER: Final = 4096
"""Bytes of one round. Longer texts are not read at all: how deep JSON nests is bounded by this."""

LARGEST_FILE: Final = 2**24
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){1,96}")
_NUMBER = "{round}"


class BeaconSource(Protocol):
    """The values of a beacon."""

    async def value(self, number: int) -> BeaconValue | None:
        """The round with its signature, not verified; None while it is not there.

        Raises `MalformedMessage` for something else than a round.
        """


async def verified(value: BeaconValue, chain: DrandChain, number: int) -> BeaconValue:
    """The value as this round of the chain; `InvalidProof` if the beacon did not sign it."""
    previous = value.previous if chain.scheme.chained else b""
    await asyncio.to_thread(verify_round, chain, number, value.signature, previous or None)
    return BeaconValue(number, value.signature, previous)


@dataclass(frozen=True, slots=True)
class DrandFile:
    """Rounds in a file, one JSON object a line; it is read again each time."""

    path: Path

    async def value(self, number: int) -> BeaconValue | None:
        return await asyncio.to_thread(self._value, number)

    def _value(self, number: int) -> BeaconValue | None:
        try:
            with self.path.open("rb") as file:
                data = file.read(LARGEST_FILE + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(f"{self.path} cannot be read: {error.strerror}") from None
        if len(data) > LARGEST_FILE:
            raise UsageError(f"{self.path} has more than {LARGEST_FILE} bytes")
        for line in _objects(data):
            found = parse_round(line)
            if found.round == number:
                return found
        return None


@dataclass(frozen=True, slots=True)
class DrandUrl:
    """A relay: `<address>/public/<round>`, or an address with `{round}` in it."""

    address: str
    transport: Transport

    def __post_init__(self) -> None:
        if not self.address.startswith(("https://", "http://")):
            raise UsageError("must be an address that begins with https:// or http://", "drand")

    async def value(self, number: int) -> BeaconValue | None:
        return await asyncio.to_thread(self._value, number)

    def _value(self, number: int) -> BeaconValue | None:
        """Asks the relay for a round; None if it is out of reach or lags behind: ask it again."""
        try:
            answer = self.transport.request(
                "GET", self._place(number), body=None, media_type="", limit=LARGEST_ANSWER
            )
        except NetworkError:
            return None
        if answer.status != 200:
            return None
        found = parse_round(answer.body)
        if found.round != number:
            raise MalformedMessage(f"round {number} was asked for", "round")
        return found

    def _place(self, number: int) -> str:
        if _NUMBER in self.address:
            return self.address.replace(_NUMBER, str(number))
        return f"{self.address.rstrip('/')}/public/{number}"


def drand_source(text: str) -> BeaconSource:
    """The source that a path or an address names."""
    if "://" in text:
        return DrandUrl(text, HttpTransport(seconds=20.0))
    return DrandFile(Path(text))


def parse_round(data: bytes) -> BeaconValue:
    """One round, as drand relays serve it; raises `MalformedMessage`."""
    if len(data) > LARGEST_ANSWER:
        raise MalformedMessage(f"a round of drand has at most {LARGEST_ANSWER} bytes")
    try:
        found = read_json(data)
    except ValueError:
        raise MalformedMessage("a round of drand is JSON in UTF-8") from None
    if not isinstance(found, dict):
        raise MalformedMessage("a round of drand is one JSON object")
    number = found.get("round")
    if type(number) is not int or not 1 <= number < 2**64:
        raise MalformedMessage("needs a whole number from 1", "round")
    previous = found.get("previous_signature", "")
    return BeaconValue(
        number,
        _hex(found.get("signature"), "signature"),
        b"" if previous is None or previous == "" else _hex(previous, "previous_signature"),
    )


def _objects(data: bytes) -> list[bytes]:
    """The objects of a file: one over several lines, or one on each."""
    lines = [line for line in data.splitlines() if line.strip()]
    one = len(data) <= LARGEST_ANSWER and lines and lines[0].strip() == b"{"
    return [data] if one else lines


def _hex(value: object, field: str) -> bytes:
    if not isinstance(value, str) or _HEX.fullmatch(value) is None:
        raise MalformedMessage("needs bytes in hexadecimal digits", field)
    return bytes.fromhex(value)
