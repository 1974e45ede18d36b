"""Takes part as a client: keeps the numbers of a message, and gives them to one session."""

# No postponed annotations: declearn reads the types of a configuration's fields.

import asyncio
import logging
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
from declearn.communication.api import NetworkClient
from declearn.communication.utils import verify_server_message_validity
from declearn.messaging import Error, Message, SerializedMessage
from declearn.model.api import Vector, VectorSpec
from declearn.secagg.api import ArraySpec, EncryptedSpecs, Encrypter, SecaggConfigClient
from declearn.secagg.messaging import SecaggMessage
from declearn.utils import Aggregate

from bulletin_board.note import VerifierKey
from gopa.contract.manifest import MANIFEST, Manifest, Mode, session_id
from gopa.planning.target import CORRUPT
from gopa.plugins.declearn.messages import (
    GopaAggregate,
    GopaQuery,
    GopaReply,
    GopaSecaggSetupQuery,
    GopaSecaggSetupReply,
    title_of,
)
from gopa.plugins.fixed_point import FixedPoint
from gopa.plugins.session import KnownRoster
from gopa.protocol.party import LocalPolicy, Refusal
from gopa.sessions.ticket import Ticket
from gopa.sessions.tunnel import MemoryGuard, SealingKey, TunnelInput, TunnelParty
from wire.ed25519 import SigningKey
from wire.errors import GopaError, InvalidProof, MalformedMessage, UsageError
from wire.secret import SecretBytes

_LOG: Final = logging.getLogger("gopa.plugins.declearn")
_NOWHERE: Final = "https://tunnel.invalid"
"""The address in tickets: these parties reach no board."""
_Aggregate = TypeVar("_Aggregate", bound=Aggregate)


_RAISED: Final = re.compile(r"[A-Za-z_]{1,64}(?=\()")
"""The name of what was raised, as `repr` shows it."""
_Part = tuple[bool, npt.NDArray[Any]]
"""Floats, or whole numbers (False)."""


class GopaEncrypter(Encrypter):
    """The numbers of the message that is being made, with the place of each.

    Nothing that it returns depends on a number. `seal` ends a message; what was sealed is given
    away once, and is gone when the next message is sealed.
    """

    def __init__(self, bitsize: int, clipval: float) -> None:
        super().__init__(bitsize=bitsize, clipval=clipval)
        self.clip = clipval
        self._parts: list[_Part] = []
        self._size = 0
        self._sealed: list[_Part] = []

    def seal(self) -> None:
        """End the message: its numbers wait for a session.

        Raises `UsageError` if one of them is none, such as NaN.
        """
        parts, size = self._parts, self._size
        self._parts, self._size, self._sealed = [], 0, []
        floats = np.concatenate([each for real, each in parts if real] or [np.zeros(0)])
        if not np.isfinite(floats).all():
            raise UsageError("must be finite numbers, not NaN or infinite", "values")
        clipped = int((abs(floats) > self.clip).sum())
        if clipped:
            message = "%d of %d numbers were beyond %g and are clipped: raise clipval"
            _LOG.warning(message, clipped, size, self.clip)
        self._sealed = parts

    def give(self, manifest: Manifest) -> TunnelInput | None:
        """The numbers, as coordinates of this session; None if they were given away before.

        What is too large is clipped: a refusal would tell the server, which sets the range, and
        could look for a number by trying ranges. Raises `InvalidProof` for a session over others.
        """
        # A second session with the same numbers, over other parties, would show them.
        parts, self._sealed = self._sealed, []
        if not parts:
            return None
        terms, size = manifest.terms, sum(len(each) for _, each in parts)
        if (terms.dimension, terms.low, terms.high) != (size, Decimal(0), Decimal(terms.steps)):
            raise InvalidProof("the session is for other numbers than those of the message", "10")
        coding = FixedPoint(terms.steps, self.clip, noisy=not terms.exact)
        most = coding.clip if coding.noisy else coding.largest
        if any((abs(each) > most).any() for real, each in parts if not real):
            _LOG.warning("a count is beyond %g and is clipped: raise bitsize or clipval", most)
        written = [coding.integers(each) if real else coding.counts(each) for real, each in parts]
        return TunnelInput(np.concatenate(written))

    def encrypt_uint(self, value: int) -> int:
        return self._put(value, real=False)

    def encrypt_uint_list(self, values: list[int]) -> list[int]:
        return [self.encrypt_uint(value) for value in values]

    def encrypt_float(self, value: float) -> int:
        return self._put(value, real=True)

    def encrypt_numpy_array(self, value: npt.NDArray[Any]) -> tuple[list[int], ArraySpec]:
        if value.dtype.kind not in "uif":
            raise TypeError(f"cannot sum an array of {value.dtype}")
        place = self._put(value, real=value.dtype.kind != "u")
        return [place] * value.size, (list(value.shape), value.dtype.name)

    def encrypt_vector(self, value: Vector) -> tuple[list[int], VectorSpec]:
        floats, spec = value.flatten()
        return [self._put(floats, real=True)] * len(floats), spec

    def encrypt_aggregate(self, value: _Aggregate) -> GopaAggregate[_Aggregate]:
        place = self._size
        made = super().encrypt_aggregate(value)
        return self.wrap_into_secure_aggregate(
            [place], made.enc_specs, made.cleartext, made.agg_cls
        )

    def wrap_into_secure_aggregate(
        self,
        encrypted: list[int],
        enc_specs: EncryptedSpecs,
        cleartext: dict[str, Any] | None,
        agg_cls: type[_Aggregate],
    ) -> GopaAggregate[_Aggregate]:
        return GopaAggregate(encrypted, enc_specs, cleartext, agg_cls)

    def _put(self, values: npt.ArrayLike, *, real: bool) -> int:
        place = self._size
        numbers = np.array(values, dtype=np.float64 if real else None).reshape(-1)
        self._parts.append((real, numbers))
        self._size += len(numbers)
        return place


@dataclass
class GopaSecaggConfigClient(SecaggConfigClient[GopaEncrypter, GopaSecaggSetupQuery]):
    """The settings of a client; its fields are the least that it asks of every session.

    `id_keys` are its own key and those of the other clients, as for declearn's other types: nobody
    else may be in a session with it. `mode` is "signed", or "full" where every number is proved to
    lie in its range. With `exact_sums` it accepts sums without noise; else `epsilon` and `delta`
    bound what all sessions together may cost. `fewest` clients have to be in a sum, and
    `corrupt_share` of all may collude, a tenth if nothing is said: rounded down, at least one.
    """

    secagg_type = "gopa"

    mode: str = "full"
    exact_sums: bool = False
    epsilon: float = 0.0
    delta: float = 1e-5
    corrupt_share: float = CORRUPT
    fewest: int = 3

    def __post_init__(self) -> None:
        if self.mode not in {"full", "signed"}:
            raise UsageError('"full" or "signed"', "mode")
        if self.fewest < 2:
            raise UsageError("at least 2: a sum of one value is that value", "fewest")
        if not self.exact_sums and not self.epsilon > 0:
            raise UsageError("say epsilon, or exact_sums for sums without noise", "epsilon")

    async def setup_encrypter(
        self, netwk: NetworkClient, query: SerializedMessage[GopaSecaggSetupQuery]
    ) -> GopaEncrypter:
        message = await verify_server_message_validity(
            netwk, received=query, expected=GopaSecaggSetupQuery
        )
        encrypter = GopaEncrypter(message.bitsize, message.clipval)
        line = getattr(netwk, "gopa_line", None) or ClientLine(netwk, self)
        line.config, line.encrypter = self, encrypter
        await netwk.send_message(GopaSecaggSetupReply(self.id_keys.pub_key_bytes))
        return encrypter


class ClientLine:
    """The answers to the server's requests between the messages of declearn, unseen by it.

    declearn's client has one message for each of the server's, and a verified sum takes several:
    so `recv_message` of its endpoint answers ours itself, and `send_message` sees where messages
    end.
    """

    def __init__(self, netwk: NetworkClient, config: GopaSecaggConfigClient) -> None:
        self.encrypter: GopaEncrypter | None = None
        self.config = config
        self._seen: set[bytes] = set()
        self._identity = SigningKey(SecretBytes(config.id_keys.prv_key.private_bytes_raw()))
        self._known = frozenset(each.public_bytes_raw() for each in config.id_keys.trusted)
        self._spent = Decimal(0), Decimal(0)
        self._seat: tuple[Manifest, TunnelParty] | None = None
        self._state = b""
        self._send: Callable[[Message], Awaitable[None]] = netwk.send_message
        self._recv: Callable[..., Awaitable[SerializedMessage[Any]]] = netwk.recv_message
        netwk.gopa_line = self
        netwk.send_message = self.send
        netwk.recv_message = self.receive

    async def send(self, message: Message) -> None:
        if isinstance(message, Error):  # shapes in what was raised tell a private count
            _LOG.error("an error, of which the server is told the name alone: %s", message.message)
            name = _RAISED.match(message.message)
            message = Error(f"{name[0] if name else 'error'}: see the log of this client")
        if isinstance(message, SecaggMessage) and self.encrypter is not None:
            try:
                self.encrypter.seal()
            except UsageError as error:
                _LOG.exception("what was computed cannot be summed")
                message = Error(f"what was computed cannot be summed: {error}")
        await self._send(message)

    async def receive(self, timeout: float | None = None) -> SerializedMessage[Any]:  # noqa: ASYNC109 - declearn's
        while True:
            received = await self._recv(timeout)
            if not issubclass(received.message_cls, GopaQuery):
                return received
            await self._send(await asyncio.to_thread(self.answer, received.deserialize()))

    def answer(self, query: GopaQuery) -> GopaReply:
        """Answer one request; a refusal says why, and nothing of the numbers."""
        try:
            if query.manifest:
                self._take_seat(query.manifest)
            if self._seat is None:
                raise MalformedMessage("a request of a session without a manifest")
            manifest, party = self._seat
            encrypter = self.encrypter
            self._state, reply = party.answer(
                self._state,
                query.request,
                lambda _: None if encrypter is None else encrypter.give(manifest),
            )
        except Refusal as refusal:
            _LOG.error("refused a session of the server: %s", refusal)
            return GopaReply(b"", f"refuses: {refusal}")
        except GopaError as error:
            _LOG.exception("a request of the server was not answered")
            return GopaReply(b"", type(error).__name__)
        return GopaReply(reply)

    def _take_seat(self, body: bytes) -> None:
        """Accept a session, or raise the `Refusal`: for its terms, or for who is in it."""
        config, (epsilon, delta) = self.config, self._spent
        self._seat, self._state = None, b""
        manifest = MANIFEST.decode(body)
        policy = LocalPolicy(
            epsilon=Decimal(str(config.epsilon)) - epsilon,
            delta=Decimal(str(config.delta)) - delta,
            corrupt_share=Fraction(str(config.corrupt_share)),
            modes=frozenset({Mode[config.mode.upper()], Mode.FULL}),
            exact_sums=config.exact_sums,
        )
        title = None if self.encrypter is None else title_of(self.encrypter.clip)
        mine = KnownRoster.of(policy, self._known, title)
        mine.require(manifest, self._identity.public.data)
        session, terms = session_id(body), manifest.terms
        if session in self._seen:  # it would say something else in the same places
            raise Refusal("this session is over here", "session")
        if terms.survivors < config.fewest:
            message = f"the sum may be over {terms.survivors} parties, you ask for {config.fewest}"
            raise Refusal(message, "fewest", str(terms.survivors))
        log = VerifierKey.parse(manifest.log.decode())
        party = TunnelParty(
            Ticket(_NOWHERE, log, session, manifest.policy),
            self._identity,
            policy,
            secret=SealingKey(SecretBytes(os.urandom(32))),
            guard=MemoryGuard(),
            sums=False,
        )
        self._spent = epsilon + (terms.epsilon or 0), delta + terms.delta
        self._seat = manifest, party
        self._seen.add(session)
