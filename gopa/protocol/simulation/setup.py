"""What a simulation is made of: keys, a manifest, a board, the machines, streams from one seed.

Where the manifest asks for them there are witnesses and a beacon.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from bulletin_board import KeyKind, NoteSigner, TrustPolicy, VerifierKey
from bulletin_board.note import SignatureLine, SignedNote, cosign
from bulletin_board.policy import KnownServer, WitnessGroup
from gopa.contract.manifest import CommitReveal, DrandBeacon, Manifest, Mode, TestCoins
from gopa.contract.parameters import Path as ProofPath
from gopa.contract.phases import Phase
from gopa.contract.terms import Terms
from gopa.protocol.organiser import Organiser, SessionSetting, new_manifest
from gopa.protocol.party import LocalPolicy, Party
from gopa.protocol.rules import BeaconValue
from gopa.protocol.simulation.access import OrganiserAccess, PartyAccess
from gopa.protocol.simulation.board import SimulatedBoard
from gopa.protocol.simulation.party import Clock, SimulatedParty, unmeasured
from gopa.protocol.simulation.script import Script
from gopa.rounds.toolkit import Toolkit
from wire.domains import SIMULATED_STREAMS
from wire.ed25519 import SigningKey
from wire.errors import UsageError
from wire.randomness import Rng, draw
from wire.secret import SecretBytes


class KnownBeaconValues(Protocol):
    """The values of a beacon that the caller of a simulation has."""

    def name(self) -> int:
        """The round that the next close of join names."""

    def value(self, number: int) -> BeaconValue:
        """The round with its signature."""


@dataclass(frozen=True, slots=True)
class SimulatedWitnesses:
    """Witnesses that cosign every checkpoint of the log, at the time that is set."""

    signers: tuple[NoteSigner, ...]
    time: int

    @classmethod
    def fresh(cls, count: int, rng: Rng, *, time: int) -> SimulatedWitnesses:
        """So many witnesses with fresh keys."""
        names = [f"witness-{number}.simulation" for number in range(count)]
        seeds = [SecretBytes(draw(rng, 32)) for _ in names]
        pairs = zip(names, seeds, strict=True)
        return cls(tuple(NoteSigner(name, KeyKind.WITNESS, seed) for name, seed in pairs), time)

    def policy(self, log: VerifierKey) -> TrustPolicy:
        """All of them are the quorum."""
        names = [f"w{number}" for number in range(len(self.signers))]
        peers = {
            name: KnownServer(signer.verifier)
            for name, signer in zip(names, self.signers, strict=True)
        }
        everybody = {"all": WitnessGroup(len(names), tuple(names))}
        return TrustPolicy(KnownServer(log), peers, everybody, "all")

    def cosigned(self, checkpoint: bytes) -> bytes:
        """The checkpoint with a cosignature of each."""
        note = SignedNote.parse(checkpoint)
        return note.with_signatures(self._lines(note.text)).to_bytes()

    def _lines(self, text: str) -> Sequence[SignatureLine]:
        return [cosign(text, signer, self.time) for signer in self.signers]


LOG_NAME = "log.simulation"

Progress = Callable[[Phase, int, int], None]
"""Called with the open phase, how many parties have been told of it, and how many will be."""


@dataclass(frozen=True, slots=True)
class SimulationOptions:
    """Where a simulation takes place; the defaults are a log in memory and nothing else.

    `directory` is new or empty and will hold the log. `executor` checks proofs and
    signatures. In `threads` the parties that hear of the same entry work at once; the log
    is the same as without. `witnesses` cosign where the setting's beacon is drand, `beacon` has its
    values. Parties hear of a roll at the time that witnesses state, or at `roll_time`.
    `remember_noise` keeps every party's input and noise, for tests. `watch` is shown every
    party whenever the organiser has said something. `clock` measures the steps of the
    parties, `time.process_time` for one (`time.thread_time` with `threads`); reading it costs
    as much as many of the steps.
    """

    directory: Path | None = None
    toolkit: Toolkit | None = None
    executor: Executor | None = None
    threads: ThreadPoolExecutor | None = None
    witnesses: SimulatedWitnesses | None = None
    beacon: KnownBeaconValues | None = None
    roll_time: int | None = None
    progress: Progress | None = None
    remember_noise: bool = False
    watch: Callable[[SimulatedParty], None] | None = None
    clock: Clock = unmeasured


@dataclass(frozen=True, slots=True)
class SimulationParts:
    """Everybody and everything of a simulation."""

    manifest: Manifest
    session: bytes
    board: SimulatedBoard
    organiser: Organiser
    organiser_access: OrganiserAccess
    parties: tuple[SimulatedParty, ...]


def set_up(
    terms: Terms,
    setting: SessionSetting,
    options: SimulationOptions,
    script: Script,
    streams: SeededStreams,
) -> SimulationParts:
    """Makes everybody of the roster, with the keys in increasing order."""
    if any(party not in range(terms.parties) for party in script.parties):
        raise UsageError(f"a party is a position from 0 to {terms.parties - 1}", "script")
    keys = _keys(terms.parties, streams)
    organiser = SigningKey.generate(streams.named("organiser"))
    log = NoteSigner(LOG_NAME, KeyKind.LOG, SecretBytes(draw(streams.named("log"), 32)))
    manifest = new_manifest(
        terms,
        [key.public.data for key in keys],
        organiser=organiser.public.data,
        log=log.verifier,
        rng=streams.named("salt"),
        setting=replace(setting, simulation=True),
        policy=None if options.witnesses is None else options.witnesses.policy(log.verifier),
    )
    session, toolkit = manifest.session, options.toolkit or Toolkit()
    board = SimulatedBoard(log, options.directory, options.executor)
    machine = Organiser(
        manifest,
        organiser,
        rng=streams.named("organiser's checks"),
        toolkit=toolkit,
        executor=options.executor,
    )
    lies = OrganiserAccess(session, manifest, organiser, streams.named("organiser's lies"), board)
    parts = SimulationParts(manifest, session, board, machine, lies, ())
    return replace(
        parts,
        parties=tuple(
            _simulated_party(parts, index, key, toolkit, script, streams, options.clock)
            for index, key in enumerate(keys)
        ),
    )


def _simulated_party(  # noqa: PLR0913, PLR0917 - what a party is made of
    parts: SimulationParts,
    index: int,
    key: SigningKey,
    toolkit: Toolkit,
    script: Script,
    streams: SeededStreams,
    clock: Clock,
) -> SimulatedParty:
    party = Party(
        parts.manifest,
        key,
        permissive(parts.manifest.terms),
        rng=streams.named(f"party {index}"),
        toolkit=toolkit,
        session=parts.session,
    )
    state = party.start()
    access = PartyAccess(
        index=index,
        session=parts.session,
        manifest=parts.manifest,
        toolkit=toolkit,
        key=key,
        rng=streams.named(f"lies of party {index}"),
        board=parts.board,
        before=state,
        state=state,
    )
    return SimulatedParty(party, access, script.parties.get(index, ()), clock)


def _keys(count: int, streams: SeededStreams) -> Sequence[SigningKey]:
    rng = streams.named("keys")
    keys = [SigningKey.generate(rng) for _ in range(count)]
    return sorted(keys, key=lambda key: key.public.data)


def permissive(terms: Terms) -> LocalPolicy:
    """A policy that takes part in any simulation of these terms."""
    return LocalPolicy(
        epsilon=Decimal(0) if terms.epsilon is None else terms.epsilon,
        exact_sums=terms.exact,
        delta=terms.delta,
        corrupt_share=Fraction(0),
        modes=frozenset(Mode),
        paths=frozenset(ProofPath),
        honest_but_curious=True,
        beacons=frozenset({CommitReveal, DrandBeacon, TestCoins}),
        open_admission=True,
        simulation=True,
    )


class SeededStreams:
    """Independent streams of one seed, one for each name."""

    __slots__ = ("_seed",)

    def __init__(self, seed: bytes) -> None:
        self._seed = seed

    def named(self, name: str) -> Rng:
        """Bytes that depend on the seed, the name, and how often this stream was asked."""
        prefix = SIMULATED_STREAMS + hashlib.sha256(self._seed).digest() + name.encode()
        asked = 0

        def draw(count: int) -> bytes:
            nonlocal asked
            asked += 1
            return hashlib.shake_128(prefix + b"/" + asked.to_bytes(8)).digest(count)

        return draw
