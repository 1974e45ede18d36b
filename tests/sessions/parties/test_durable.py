"""What a durable party stores, refuses and forgets."""

from __future__ import annotations

import copy
import hashlib
import pickle
import struct
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from gopa.contract.manifest import Manifest
from gopa.contract.phases import Phase
from gopa.protocol.party import Fetched, Finished, Halted, Part, Post, Supplied, TimedOut, Witnessed
from gopa.protocol.party.states import BetweenRounds, Checking, Comparing, Done, Outside, Stopped
from gopa.protocol.simulation.setup import SeededStreams, permissive
from gopa.sessions.parties import stepped
from gopa.sessions.parties.durable import DurableParty
from gopa.sessions.parties.journal import RECORD
from gopa.sessions.parties.memory import MEMORY
from gopa.sessions.parties.stepped import START, StepRng, extend
from gopa.sessions.vault import DirectoryVault, MemoryVault, Passphrase, Secret, StateDiverged
from gopa.support import version
from gopa.support.version import VERSION
from tests.protocol.simulation.worlds import inputs_for, require_sound
from tests.randomness import seeded
from tests.sessions.parties.test_backup import Play
from tests.sessions.parties.worlds import DOUBLES, Restarting, durable, replace_party, world
from tests.sessions.vault.tools import KEY, LOG, PASSPHRASE
from wire.ed25519 import SigningKey
from wire.errors import FaultyParty, UsageError
from wire.randomness import draw
from wire.secret import SecretBytes


@lru_cache(maxsize=1)
def played() -> Play:
    play = Play("rollback", rounds=3)
    play.run()
    return play


def copies_with(stage: type) -> list[MemoryVault]:
    found = [each for each in played().vault.copies if type(party(each).state.stage) is stage]
    assert found
    return found


def party(vault: MemoryVault) -> DurableParty:
    return durable(played().actor, vault.copy())


def test_end_of_a_round_begins_a_generation_with_another_secret() -> None:
    memories = [MEMORY.decode(each.memory() or b"") for each in played().vault.copies]
    rounds = {each.secret: each.chain.round for each in memories}
    assert list(rounds.values()) == [0, 1, 2, 3]
    begun = [each for each in played().vault.copies if not each.journal()]
    assert len(begun) == 4
    assert not MEMORY.decode(begun[-1].memory() or b"").inputs


def test_inputs_are_kept_as_long_as_a_round_may_ask_for_them() -> None:
    """The value of a decided round is gone, one that was supplied ahead is not."""
    play = Play("honest", rounds=1)
    ahead = tuple(inputs_for(play.simulation.manifest.terms, 1)[3])
    play.process.durable.step(Supplied(1, ahead))
    play.run()
    memory = MEMORY.decode(play.vault.memory() or b"")
    assert [(each.logical, each.values) for each in memory.inputs] == [(1, ahead)]
    given = play.process.durable.state.inputs
    again = durable(play.actor, play.vault.copy()).state.inputs
    assert [each.commitment for each in given] == [each.commitment for each in again]
    assert given[0].opening is not None
    assert again[0].opening is not None
    first, second = given[0].opening.reveal(), again[0].opening.reveal()
    assert first.to_bytes() == second.to_bytes()


def test_restart_gives_the_same_state() -> None:
    play = Play("honest", rounds=1)
    checked = 0

    def compare() -> None:
        nonlocal checked
        live, again = play.process.durable, durable(play.actor, play.vault.copy())
        assert again.state.chain == live.state.chain
        assert again.state.tally == live.state.tally
        assert again.state.sent == live.state.sent
        assert again.state.landed == live.state.landed
        assert type(again.state.stage) is type(live.state.stage)
        assert again.state.own_leaf == live.state.own_leaf
        assert again.state.seen_root == live.state.seen_root
        assert (again.heard, again.wanted, again.last) == (live.heard, live.wanted, live.last)
        checked += 1

    play.process.landed = compare
    play.run()
    compare()
    assert checked > 5


@pytest.mark.parametrize(
    ("stage", "read", "said"),
    [(Checking, Phase.COINS, Phase.COMMIT), (Comparing, Phase.COMMIT, Phase.PUBLISH)],
    ids=["reveals", "commits"],
)
def test_restart_knows_what_it_was_waiting_for(stage: type, read: Phase, said: Phase) -> None:
    found = party(copies_with(stage)[0])
    assert found.wanted is not None
    assert found.wanted.phase is read
    board = played().actor.access.board
    entries = board.fetch(found.wanted, played().simulation.session)
    outputs = found.step(Fetched(read, entries))
    assert [each.phase for each in outputs if isinstance(each, Post)] == [said]
    assert found.wanted is None


def test_last_round_survives_a_crash_before_anybody_heard_of_it() -> None:
    last = party(copies_with(Done)[0]).last
    assert isinstance(last, Finished)
    assert (last.round, last.logical, last.part) == (3, 2, Part.ACTIVE)
    assert last.outcome == played().process.durable.last.outcome  # type: ignore[union-attr]


def test_event_that_is_refused_leaves_no_trace() -> None:
    vault = copies_with(Comparing)[0].copy()
    found = durable(played().actor, vault)
    before, state = vault.journal(), found.state
    for event in (Supplied(0, (5,)), Fetched(Phase.CONFIRM, ()), Witnessed(0, b"short")):
        with pytest.raises(UsageError):
            found.step(event)
    foreign = played().actor.access.board.entries[0]
    entry = replace(foreign.entry, session=bytes(32))
    with pytest.raises(UsageError):
        found.step(replace(foreign, entry=entry))
    assert vault.journal() == before
    assert found.state is state
    assert found.step(Witnessed(10**6, bytes(32))) == ()
    assert len(vault.journal()) == len(before) + 1
    durable(played().actor, vault)


def test_attempt_is_nothing_until_it_is_committed() -> None:
    vault = copies_with(Comparing)[0].copy()
    found = durable(played().actor, vault)
    before, wanted = vault.journal(), found.wanted
    assert wanted is not None
    board, session = played().actor.access.board, played().simulation.session
    hidden = found.attempt(Fetched(Phase.COMMIT, ()))
    assert any(isinstance(each, Halted) for each in hidden.outputs)
    whole = found.attempt(Fetched(Phase.COMMIT, board.fetch(wanted, session)))
    assert vault.journal() == before
    assert found.wanted == wanted
    assert whole.commit() == whole.outputs
    assert found.remembered[-1] == whole.outputs[-1]
    assert len(vault.journal()) == len(before) + 1
    for overtaken in (hidden, whole):
        with pytest.raises(UsageError):
            overtaken.commit()
    assert len(vault.journal()) == len(before) + 1


def test_discarded_attempt_changes_nothing_that_follows() -> None:
    found, twin = party(copies_with(Comparing)[0]), party(copies_with(Comparing)[0])
    board, session = played().actor.access.board, played().simulation.session
    assert found.wanted is not None
    event = Fetched(Phase.COMMIT, board.fetch(found.wanted, session))
    found.attempt(Fetched(Phase.COMMIT, ()))
    assert found.step(event) == twin.step(event)


def test_whoever_has_stopped_stays_so() -> None:
    """The memory says why, and no secret of the round is in the vault any more."""
    vault = copies_with(Comparing)[0].copy()
    found = durable(played().actor, vault)
    secret = MEMORY.decode(vault.memory() or b"").secret
    (halted,) = found.step(Fetched(Phase.COMMIT, ()))
    assert isinstance(halted, Halted)
    assert not vault.journal()
    assert secret not in (vault.memory() or b"")
    again = durable(played().actor, vault).state.stage
    assert isinstance(again, Stopped)
    assert isinstance(again.error, FaultyParty)
    assert again.error.args == halted.error.args
    stored = vault.memory()
    assert durable(played().actor, vault).step(Witnessed(10**6, bytes(32))) == ()
    assert (vault.memory(), vault.journal()) == (stored, ())


def test_whoever_leaves_a_round_forgets_it_at_once() -> None:
    vault = copies_with(Comparing)[0].copy()
    found = durable(played().actor, vault)
    secret = MEMORY.decode(vault.memory() or b"").secret
    assert found.step(TimedOut(found.state.chain.round)) == ()
    assert secret not in (vault.memory() or b"")
    assert not vault.journal()
    for each in (found, durable(played().actor, vault)):
        stage = each.state.stage
        assert isinstance(stage, Outside)
        assert stage.opened.context.round == each.state.chain.round
        assert each.state.tally.excused
        assert not each.remembered


def test_vault_is_of_one_key_and_session() -> None:
    vault = copies_with(BetweenRounds)[0]
    access = played().actor.access
    policy = permissive(access.manifest.terms)
    other = Play("rollback")
    other_manifest = replace(access.manifest, title=b"another")

    def make(manifest: Manifest, key: SigningKey) -> None:
        DurableParty(vault.copy(), manifest, key, policy, rng=seeded(1), toolkit=DOUBLES)

    make(access.manifest, access.key)
    for manifest, key in (
        (access.manifest, other.simulation.parties[2].access.key),
        (other_manifest, access.key),
    ):
        with pytest.raises(UsageError) as caught:
            make(manifest, key)
        assert caught.value.field == "vault"


def test_another_version_of_the_library_diverges(monkeypatch: pytest.MonkeyPatch) -> None:
    vault = copies_with(Comparing)[0]
    party(vault)
    monkeypatch.setattr(stepped, "VERSION", version.VERSION + "x")
    with pytest.raises(StateDiverged):
        party(vault)


def test_changed_post_or_event_diverges() -> None:
    vault = copies_with(Comparing)[0]
    party(vault)
    journal = [RECORD.decode(each) for each in vault.journal()]
    number = next(i for i, each in enumerate(journal) if each.posts)
    post = journal[number].posts[0]
    entry = post.entries[0]
    changed = [
        replace(journal[number], posts=()),
        replace(
            journal[number], posts=(replace(post, entries=(entry[:-1] + bytes([entry[-1] ^ 1]),)),)
        ),
        replace(journal[number], event=TimedOut(1)),
        replace(journal[number], event=Fetched(Phase.COMMIT, ())),
    ]
    for each in changed:
        records = [*journal[:number], each, *journal[number + 1 :]]
        copied = MemoryVault(vault.memory(), [(RECORD.encode(record),) for record in records])
        with pytest.raises(StateDiverged):
            durable(played().actor, copied)
    for data in (b"", b"\x09", vault.journal()[0] + b"\0"):
        with pytest.raises(StateDiverged):
            durable(played().actor, MemoryVault(vault.memory(), [(data,)]))
    memory = vault.memory() or b""
    for data in (b"", memory[:-1], memory + b"\0", b"\x00\x02" + memory[2:]):
        with pytest.raises(StateDiverged):
            durable(played().actor, MemoryVault(data))
    durable(played().actor, MemoryVault(memory))


@pytest.mark.slow
def test_it_never_prints_or_pickles() -> None:
    found = party(copies_with(Comparing)[0])
    attempt = found.attempt(Witnessed(10**6, bytes(32)))
    assert repr(found) == "<DurableParty: secret>"
    assert repr(attempt) == "<Attempt: secret>"
    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        for each in (found, attempt, copies_with(BetweenRounds)[0]):
            with pytest.raises(UsageError):
                act(each)


SUBJECT = 3


class RecordingVault(DirectoryVault):
    """Notes all bytes that are in its files at any time, and what it was given to keep."""

    def __init__(self, path: Path, secret: Secret | None) -> None:
        super().__init__(path, LOG, rng=seeded("disk"), secret=secret)
        self.disk = bytearray()
        self.given: list[bytes] = []
        self._seen: dict[Path, bytes] = {}

    def begin(self, memory: bytes) -> None:
        super().begin(memory)
        self._note(memory)

    def append(self, *parts: bytes, leaves: bool = True) -> None:
        super().append(*parts, leaves=leaves)
        self._note(b"".join(parts))

    def _note(self, given: bytes) -> None:
        self.given.append(given)
        for path in sorted(self.path.rglob("*")):
            if path.is_file():
                data, before = path.read_bytes(), self._seen.get(path, b"")
                self.disk += data.removeprefix(before)
                self._seen[path] = data


def signing_seeds() -> list[bytes]:
    """Those of the parties of a world, which are drawn one behind the other."""
    keys = SeededStreams(draw(seeded(1), 32)).named("keys")
    return [draw(keys, 32) for _ in range(8)]


def play(path: Path, secret: Secret | None) -> tuple[bytes, list[bytes], list[bytes]]:
    """The bytes on the disk, what was kept, and secrets to look for."""
    simulation = world()
    actor = simulation.parties[SUBJECT]
    vault = RecordingVault(path, secret)
    replace_party(actor, Restarting(lambda: durable(actor, vault)))
    for logical in range(2):
        inputs = inputs_for(simulation.manifest.terms, logical)
        require_sound(simulation, simulation.run_round(inputs), inputs)
    values = [inputs_for(simulation.manifest.terms, each)[SUBJECT][0] for each in range(2)]
    authors = {SigningKey(SecretBytes(seed)).public.data for seed in signing_seeds()}
    assert authors == {each.author for each in simulation.parties}
    secrets = [MEMORY.decode(each).secret for each in vault.given if _is_memory(each)]
    assert len(secrets) == 3
    secrets += [b"\0" * 7 + bytes([value]) for value in values if value]
    vault.close()
    return bytes(vault.disk), vault.given, secrets


def _is_memory(data: bytes) -> bool:
    return data[:2] == b"\0\1"


def test_plain_vault_shows_round_secrets_and_values_but_no_signing_key(tmp_path: Path) -> None:
    """So that the search is known to find what there is."""
    disk, given, secrets = play(tmp_path / "vault", None)
    assert len(secrets) >= 4
    assert all(secret in disk for secret in secrets)
    assert all(each in disk for each in given)
    assert not any(seed in disk for seed in signing_seeds())


@pytest.mark.parametrize("secret", [KEY, PASSPHRASE], ids=["key file", "passphrase"])
def test_sealed_vault_shows_no_piece_of_it(secret: Secret, tmp_path: Path) -> None:
    disk, given, secrets = play(tmp_path / "vault", secret)
    own = secret.text if isinstance(secret, Passphrase) else secret.data
    for needle in (*secrets, *signing_seeds(), own.reveal(), struct.pack("<d", 0.35)):
        assert needle not in disk
    windows = {each[at : at + 16] for each in given for at in range(0, len(each) - 15, 16)}
    assert len(windows) > 1000
    kept = {disk[at : at + 16] for at in range(len(disk) - 15)}
    assert not windows & kept


SECRET = SecretBytes(b"\x07" * 32)


SIZES = [1, 32, 0, 64, 1000, 5000, 7, 100_000]


def stream(secret: SecretBytes, chain: bytes, sizes: list[int]) -> list[bytes]:
    made = StepRng()
    made.begin(secret, chain)
    return [made(size) for size in sizes]


def test_it_is_the_stream_of_the_specification() -> None:
    chain = hashlib.sha256(hashlib.sha256(bytes(32) + b"first").digest() + b"second").digest()
    assert extend(extend(START, [b"fir", b"st"]), [b"second"]) == chain
    version = VERSION.encode()
    seed = b"gopa/v1/sessions/chance" + b"\x07" * 32 + bytes([len(version)]) + version + chain
    whole = hashlib.shake_256(seed).digest(sum(SIZES))
    parts = stream(SECRET, chain, SIZES)
    assert [len(part) for part in parts] == SIZES
    assert b"".join(parts) == whole


def test_secret_chain_and_version_all_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    one = stream(SECRET, START, [32])
    assert stream(SECRET, START, [32]) == one
    assert stream(SecretBytes(b"\x08" * 32), START, [32]) != one
    assert stream(SECRET, extend(START, []), [32]) != one
    monkeypatch.setattr(stepped, "VERSION", VERSION + "0")
    assert stream(SECRET, START, [32]) != one


def test_there_is_none_between_steps() -> None:
    made = StepRng()
    with pytest.raises(UsageError):
        made(1)
    made.begin(SECRET, START)
    first = made(16)
    made.end()
    with pytest.raises(UsageError):
        made(1)
    made.begin(SECRET, START)
    assert made(16) == first
    assert repr(made) == "<StepRng: secret>"
