"""Sessions as declearn's server, which learns sums and nothing else."""

# No postponed annotations: declearn reads the types of a configuration's fields.

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, Optional

import numpy as np
from declearn.communication.api import NetworkServer
from declearn.communication.utils import verify_client_messages_validity
from declearn.messaging import CancelTraining, Message, SerializedMessage
from declearn.model.api import Vector, VectorSpec
from declearn.secagg.api import ArraySpec, Decrypter, SecaggConfigServer, SecureAggregate
from declearn.secagg.messaging import SecaggMessage

import gopa
from bulletin_board.display import visible
from gopa.contract.manifest import Mode
from gopa.planning.target import CORRUPT, DROPOUT
from gopa.plugins.declearn.messages import (
    GopaAggregate,
    GopaQuery,
    GopaReply,
    GopaSecaggSetupQuery,
    GopaSecaggSetupReply,
    outline,
    title_of,
)
from gopa.plugins.fixed_point import FixedPoint, Integers
from gopa.plugins.session import HostedSession, RoundSum, new_signer
from gopa.protocol.organiser import SessionSetting
from wire.ed25519 import PublicKey
from wire.errors import GopaError, MalformedMessage, UsageError

_LOG: Final = logging.getLogger("gopa.plugins.declearn")
_Array = np.ndarray[Any, np.dtype[Any]]
_GARBLED: Final = (
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
"""What a client that says nonsense has the reader raise; it costs the others nothing."""
_COARSE: Final = 1e-2
"""A step from which on the server warns that numbers are rounded."""


class GopaDecrypter(Decrypter):
    """The sums of the last session, by the places that clients' messages name."""

    secure_aggregate_cls = GopaAggregate

    def __init__(self, n_peers: int, bitsize: int, clipval: float) -> None:
        super().__init__(n_peers, bitsize=bitsize, clipval=clipval)
        self._coding = FixedPoint.finest(bitsize, clipval, 1)
        self._sums: Integers = np.zeros(0, dtype=np.int64)
        self._count = 0

    def take(self, sums: Integers, count: int, coding: FixedPoint) -> None:
        """Take the sums of a session over so many clients."""
        self._sums, self._count, self._coding = sums, count, coding

    def sum_encrypted(self, values: list[int]) -> int:
        if len(set(values)) != 1:
            raise ValueError("clients have put their numbers in different places")
        return values[0]

    def decrypt_uint(self, value: int) -> int:
        return int(self._coding.totals(self._sums[value : value + 1], self._count)[0])

    def decrypt_float(self, value: int) -> float:
        return float(self._coding.floats(self._sums[value : value + 1], self._count)[0])

    def decrypt_numpy_array(self, values: list[int], specs: ArraySpec) -> _Array:
        shape, dtype = specs
        sums, kind = np.array(values, dtype=np.int64), np.dtype(dtype).kind
        if kind == "u":
            return self._coding.totals(sums, self._count).astype(dtype).reshape(shape)
        floats = self._coding.floats(sums, self._count)
        return (np.rint(floats) if kind == "i" else floats).astype(dtype).reshape(shape)

    def decrypt_vector(self, values: list[int], specs: VectorSpec) -> Vector:
        floats = self._coding.floats(np.array(values, dtype=np.int64), self._count)
        return Vector.build_from_specs(floats.tolist(), specs)

    def decrypt_aggregate(self, value: SecureAggregate[Any]) -> Any:
        if not isinstance(value, GopaAggregate):
            raise TypeError(f"expects a GopaAggregate, not {type(value).__name__}")
        found: dict[str, Any] = {}
        place = value.encrypted[0]
        for name, size, spec in value.enc_specs:
            sums = self._sums[place : place + size].tolist()
            scalar = isinstance(spec, bool)
            found[name] = self._decrypt_value([place] if scalar else sums, spec)
            place += size
        return value.agg_cls(**found, **value.cleartext)


@lru_cache(maxsize=16)
def _planned(
    count: int, bitsize: int, clipval: float, *, epsilon: float | None, **asked: Any
) -> tuple[gopa.Plan, FixedPoint]:
    """The plan of a sum, and how its numbers become integers: made once for sums that are alike.

    A plan with noise takes up to a second, and a server makes a session for every sum.
    """
    plan = partial(gopa.plan, dimension=count, epsilon=epsilon, **asked)
    coding = FixedPoint.finest(bitsize, clipval, count)
    if epsilon is not None:  # noise is far coarser than the finest grid
        steps = plan(range=(-1, 1)).terms.steps
        coding = FixedPoint(min(steps, coding.largest), clipval, noisy=True)
    return plan(**coding.target), coding


@dataclass
class GopaSecaggConfigServer(SecaggConfigServer[GopaDecrypter, GopaSecaggSetupQuery]):
    """The settings of a server; a session of one round sums each kind of message.

    A number takes at most `bitsize` bits, and floats are clipped to `clipval`: both decide how
    finely they are rounded. `mode`, `corrupt` and `dropout` are those of `gopa.plan`, as are
    `epsilon` and `delta` of each session; with `exact_sums` there is no noise. A client that says
    nothing for `training_seconds`, or in a session for `answer_seconds`, is dropped: the sum is
    over the others. `logs` is a directory for the log of every session, for `gopa audit`.
    """

    secagg_type = "gopa"

    bitsize: int = 64
    clipval: float = 1e5
    mode: str = "full"
    exact_sums: bool = False
    epsilon: Optional[float] = None  # noqa: UP045 - declearn parses this kind of union
    delta: Optional[float] = None  # noqa: UP045
    corrupt: float = CORRUPT
    dropout: float = DROPOUT
    training_seconds: float = 3600.0
    answer_seconds: float = 60.0
    logs: Optional[str] = None  # noqa: UP045

    def __post_init__(self) -> None:
        if self.mode not in {"full", "signed"}:
            raise UsageError('"full" or "signed"', "mode")
        if self.exact_sums == (self.epsilon is not None):
            raise UsageError("say epsilon, or exact_sums for sums without noise", "epsilon")
        for name in ("training_seconds", "answer_seconds"):
            if not 0 < getattr(self, name) < float("inf"):
                raise UsageError("a number of seconds above 0", name)
        FixedPoint.finest(self.bitsize, self.clipval, 1)  # raises for what is no range

    def session(self, keys: list[bytes], count: int) -> tuple[HostedSession, FixedPoint]:
        """A session of these clients over so many numbers, and how they become integers.

        Raises `UsageError` if no plan allows it.
        """
        made, coding = _planned(
            n=len(keys),
            count=count,
            bitsize=self.bitsize,
            clipval=self.clipval,
            epsilon=self.epsilon,
            delta=self.delta,
            mode="full" if self.mode == "full" else "signed",
            corrupt=self.corrupt,
            dropout=self.dropout,
        )
        setting = SessionSetting(mode=Mode[self.mode.upper()], title=title_of(self.clipval))
        # A log of its own for each: it need not be kept in memory when the session is over.
        signer = new_signer(name="declearn.invalid/log")
        return HostedSession(made, frozenset(keys), setting, signer, os.urandom), coding

    def prepare_secagg_setup_query(self) -> GopaSecaggSetupQuery:
        return GopaSecaggSetupQuery(self.bitsize, self.clipval)

    async def finalize_secagg_setup(
        self,
        netwk: NetworkServer,
        clients: Optional[set[str]] = None,  # noqa: UP045
    ) -> GopaDecrypter:
        line = getattr(netwk, "gopa_line", None) or _ServerLine(netwk)
        line.configure(self)
        replies = await netwk.wait_for_messages(clients)
        found = await verify_client_messages_validity(netwk, replies, expected=GopaSecaggSetupReply)
        line.enrol({name: reply.key for name, reply in found.items()})
        return line.decrypter


class _ServerLine:
    """The sessions between two messages of declearn, which sees none of their messages.

    declearn adds up replies in a function that cannot wait for anybody. So `wait_for_messages` of
    its endpoint holds the session as soon as replies are there that need one, and returns those of
    the clients in the sum. A client that vanishes is dropped, as if it had said so itself.
    """

    def __init__(self, netwk: NetworkServer) -> None:
        self._netwk = netwk
        self._keys: dict[str, bytes] = {}
        self._send: Callable[..., Awaitable[None]] = netwk.send_message
        netwk.gopa_line = self
        netwk.send_message = self.send
        netwk.wait_for_messages = self.wait_for_messages

    def configure(self, config: GopaSecaggConfigServer) -> None:
        """Begin to hold sessions as this says."""
        self._config = config
        peers = len(self._netwk.client_names)
        self.decrypter = GopaDecrypter(peers, config.bitsize, config.clipval)
        self._coarsest = _COARSE

    def enrol(self, keys: Mapping[str, bytes]) -> None:
        """Take the keys of clients; `RuntimeError` if two have one, which one of them holds."""
        owners = {key: name for name, key in self._keys.items() if name not in keys}
        for name, key in keys.items():
            try:
                PublicKey(key)
            except (MalformedMessage, UsageError, TypeError):
                self._drop(name, "told something that is no key")
                continue
            if owners.setdefault(key, name) != name:
                _LOG.error("clients %s and %s have one key", visible(owners[key]), visible(name))
                raise RuntimeError("two clients have one key")
            self._keys[name] = key

    async def send(self, message: Message, client: str, timeout: float | None = None) -> None:  # noqa: ASYNC109 - declearn's
        if client not in self._netwk.client_names:  # dropped, and still in a sample
            return
        try:
            await self._send(message, client, timeout or self._config.training_seconds)
        except TimeoutError:
            if timeout:
                raise
            self._drop(client, "does not collect its messages")

    async def wait_for_messages(
        self, clients: set[str] | None = None
    ) -> dict[str, SerializedMessage[Any]]:
        present = self._netwk.client_names
        names = sorted(present if clients is None else present.intersection(clients))
        seconds = self._config.training_seconds
        heard = await asyncio.gather(*(self._receive(name, seconds) for name in names))
        received = {name: each for name, each in zip(names, heard, strict=True) if each is not None}
        if not received:
            raise RuntimeError("no client is left")
        if not all(issubclass(each.message_cls, SecaggMessage) for each in received.values()):
            return received
        try:
            included = await self._summed(received)
        except GopaError as error:
            message = f"no verified sum: {error}"
            await self._netwk.broadcast_message(CancelTraining(message))
            raise RuntimeError(message) from error
        return {name: received[name] for name in sorted(included)}

    async def _receive(self, name: str, seconds: float) -> SerializedMessage[Any] | None:
        """What a client sends; None if it sends nothing, or nothing that can be read."""
        try:
            raw = await self._netwk.handler.recv_message(name, seconds)
        except (TimeoutError, KeyError):
            self._drop(name, f"said nothing for {seconds:g} s, or has left")
            return None
        try:
            return SerializedMessage.from_bin_message(raw)
        except _GARBLED:
            self._drop(name, "sent something that is no message")
        return None

    async def _summed(self, received: Mapping[str, SerializedMessage[Any]]) -> set[str]:
        """Hold a session over the numbers of these messages; who is in the sum."""
        outlines: dict[str, tuple[str, int]] = {}
        for name, message in received.items():
            try:
                form, size = outline(message.deserialize())
                outlines[name] = repr(form), size
            except _GARBLED as error:
                self._drop(name, f"sent a message that cannot be read: {type(error).__name__}")
        ((common, _),) = Counter(outlines.values()).most_common(1) or [(("", 0), 0)]
        for name, found in outlines.items():
            if found != common:
                self._drop(name, "describes its numbers in another way than the others")
        names = {
            self._keys[name]: name
            for name, found in outlines.items()
            if found == common and name in self._keys
        }
        hosted, coding = self._config.session(sorted(names), common[1])
        if coding.step > self._coarsest:
            self._coarsest = coding.step
            message = "%d numbers up to %g are rounded to multiples of %.2g: lower clipval"
            _LOG.warning(message, common[1], coding.clip, coding.step)
        included: frozenset[bytes] = frozenset()
        try:
            ended = await self._hold(hosted, names)
            included = ended.included
        finally:
            self._tell(hosted, {key: names[key] for key in names.keys() - included})
            if self._config.logs is not None:
                await asyncio.to_thread(hosted.transcript.keep, self._config.logs)
        # The grid of the plan are the integers, so that the mean leads back to them.
        sums = np.rint(ended.mean * len(included)).astype(np.int64)
        self.decrypter.take(sums, len(included), coding)
        return {names[key] for key in included}

    async def _hold(self, session: HostedSession, names: Mapping[bytes, str]) -> RoundSum:
        """Hold the one round of a session; raises `RoundAborted`."""
        untold = dict.fromkeys(names, session.manifest.to_bytes())
        requests = await asyncio.to_thread(session.open, frozenset(names))
        while requests:
            queries = {key: GopaQuery(untold.pop(key, b""), raw) for key, raw in requests.items()}
            requests = await asyncio.to_thread(session.advance, await self._ask(names, queries))
        present = {key for key in names if names[key] in self._netwk.client_names}
        last = {key: GopaQuery(b"", raw) for key, raw in session.finish().items() if key in present}
        await self._ask(names, last)
        return session.outcome(None)

    async def _ask(
        self, names: Mapping[bytes, str], queries: Mapping[bytes, GopaQuery]
    ) -> dict[bytes, bytes]:
        """What these clients reply, as far as they do."""
        asked = (self._ask_one(names[key], query) for key, query in queries.items())
        heard = await asyncio.gather(*asked)
        return {key: raw for key, raw in zip(queries, heard, strict=True) if raw is not None}

    async def _ask_one(self, name: str, query: GopaQuery) -> bytes | None:
        """One client's reply; None if it gives none, and then it is dropped."""
        seconds = self._config.answer_seconds
        try:
            await self._send(query, name, seconds)
        except (TimeoutError, KeyError):
            self._drop(name, "vanished")
            return None
        found = await self._receive(name, seconds)
        if found is None:
            return None
        try:
            reply = found.deserialize()
        except _GARBLED:
            reply = None
        if not isinstance(reply, GopaReply) or type(reply.reply) is not bytes:
            self._drop(name, f"sent {found.message_cls.__name__} in a session")
            return None
        if reply.refusal:
            self._drop(name, visible(str(reply.refusal)))
            return None
        return reply.reply

    def _drop(self, name: str, why: str) -> None:
        """Have declearn go on without a client, as it does for one that leaves."""
        _LOG.warning("client %s is dropped: %s", visible(name), why)
        handler = self._netwk.handler
        for context in [key for key, value in handler.registered_clients.items() if value == name]:
            del handler.registered_clients[context]
        handler.outgoing_messages.pop(name, None)
        handler.incoming_messages.pop(name, None)

    def _tell(self, session: HostedSession, absent: Mapping[bytes, str]) -> None:
        """Warn of clients that are not in the sum; who has broken a rule is dropped."""
        reasons = session.left_out()
        for key, name in absent.items():
            why = reasons.get(key, "did not answer")
            _LOG.warning("the sum is without client %s: %s", visible(name), why)
        for fault in session.transcript.check().faults if absent else ():
            if fault.author in absent:
                self._drop(absent[fault.author], f"has broken a rule: {fault}")
