"""Users in processes of their own learn a model each, and whoever carries their models reads none.

Twenty processes have the rows of one user each. When its clock ticks, a user takes a step of
coordinate descent and writes its model to its neighbours, in letters that are sealed and signed. A
relay carries all of them; now and then it sends one again, changes or withholds one, or takes it
to somebody else, and is refused. In the end the models are those of the simulation, bit for bit.

    python -m examples.personalised_processes
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Sequence
from hashlib import sha256
from multiprocessing.connection import Connection
from typing import Final

import numpy as np

from gopa.graph import Graph, from_similarity
from gopa.learning import Users, linear_models
from gopa.learning.clocks import Poisson, events
from gopa.learning.objectives import LOGISTIC, Linear
from gopa.learning.personalised import Collaboration, Member, fit_descent
from gopa.learning.rows import AgentRows
from gopa.sessions.tunnel import Correspondent, LetterMissing, receiver_of
from wire.codec import opaque, vector
from wire.ed25519 import SigningKey
from wire.errors import GopaError, UsageError

PARTS: Final = vector(opaque(0, 2**12), 0, 2**10)
TRICKS: Final = ("changed", "reordered", "sent again", "taken to another user", "withheld")
SEED, COLUMNS, STEPS_EACH, LONGEST = 1, 10, 10, 2.0


def setting(users: int) -> tuple[Users, Graph, list[int]]:
    """What is public, besides rows: who is similar to whom, and whose clock ticks when."""
    people = linear_models(users, COLUMNS, seed=SEED)
    ticks = events(Poisson(users), SEED, steps=STEPS_EACH * users, runs=1)
    return people, from_similarity(people.truth["weights"], 0.01), ticks.actors[0, :, 0].tolist()


def problem(people: Users, user: int | None) -> Collaboration:
    """What all minimise, as one user sees it: of others it knows how many rows they have."""
    rows = AgentRows.of(people.pairs()).clipped(2, LONGEST)
    if user is not None:
        own = np.arange(len(rows.counts)) == user
        x, y = rows.x * own[:, None, None], np.where(own[:, None], rows.y, 1.0)
        rows = AgentRows(x, y, rows.counts, rows.bounds, rows.label_bound)
    return Collaboration(Linear(LOGISTIC, rows, ridge=2 / rows.counts), pull=1.0)


class Person:
    """Runs in the process of a user: hears its neighbours' models, and tells its own."""

    def __init__(self, number: int, users: int, identity: SigningKey, roster: list[bytes]) -> None:
        people, graph, self._actors = setting(users)
        self._member, self._roster = Member(problem(people, number), graph, number), roster
        run = sha256(b"".join([b"personal models", *roster])).digest()
        self.letters = Correspondent(run, identity, rng=os.urandom)
        self._steps = 0

    def answer(self, request: bytes) -> list[bytes]:
        """Reads letters, and then does what was asked for, if anything."""
        word, *carried = PARTS.decode(request)
        if word == b"cards":
            for number in self._member.neighbours:
                self.letters.meet(self._roster[number], carried[number])
            return []
        for each in carried:
            sender, content = self.letters.read(each)
            # A neighbour may sign anything: what is no model ends nobody's process.
            if len(content) % 8:
                raise UsageError("numbers of eight bytes", "model")
            self._member.hear(self._roster.index(sender), np.frombuffer(content, "<f8"))
        if word == b"step":
            return self.step()
        return [self._member.model.astype("<f8").tobytes()] if word == b"model" else []

    def step(self) -> list[bytes]:
        """A letter to each neighbour, with the model after this user's next step."""
        turns = [at for at, actor in enumerate(self._actors) if actor == self._member.user]
        before = self._actors[: turns[self._steps]]
        for number in self._member.neighbours:
            # Everybody knows who has acted until now, and so how many letters are due.
            if self.letters.heard(self._roster[number]) != before.count(number):
                raise LetterMissing(f"the last letters of user {number}")
        self._steps += 1
        told = self._member.step().astype("<f8").tobytes()
        return [self.letters.write(self._roster[each], told) for each in self._member.neighbours]


def live(line: Connection, number: int, users: int) -> None:
    """The process of a user; its key and its rows never leave it."""
    identity = SigningKey.generate(os.urandom)
    line.send_bytes(identity.public.data)
    person = Person(number, users, identity, list(PARTS.decode(line.recv_bytes())))
    line.send_bytes(person.letters.card)
    while request := line.recv_bytes():
        try:
            reply = [b"", *person.answer(request)]
        except GopaError as error:
            reply = [f"{type(error).__name__}: {error}".encode()]
        line.send_bytes(PARTS.encode(tuple(reply)))


class Relay:
    """Carries letters between users, and believes that nobody will notice what else it does."""

    def __init__(self, lines: list[Connection], roster: list[bytes], cards: list[bytes]) -> None:
        self._lines, self._roster = lines, roster
        self._waiting: list[list[tuple[int, bytes]]] = [[] for _ in lines]
        self.refusals: dict[str, str] = {}
        self.carried = 0
        for user in range(len(lines)):
            self.ask(user, b"cards", cards)

    def ask(self, user: int, word: bytes, letters: Sequence[bytes] = ()) -> list[bytes]:
        """What a user answers; `RuntimeError` with its words if it refuses."""
        self._lines[user].send_bytes(PARTS.encode((word, *letters)))
        refused, *reply = PARTS.decode(self._lines[user].recv_bytes())
        if refused:
            raise RuntimeError(refused.decode())
        return reply

    def turn(self, user: int) -> None:
        """Gives a user its letters and its turn, and takes those that it writes."""
        waiting, self._waiting[user] = self._waiting[user], []
        if waiting:
            waiting = self.misbehave(user, waiting)
        for letter in self.ask(user, b"step", [letter for _, letter in waiting]):
            self._waiting[self._roster.index(receiver_of(letter))].append((user, letter))
            self.carried += 1

    def misbehave(self, user: int, waiting: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """Tries everything once, which changes nothing; what is left is to be carried."""
        author, last = waiting[-1]
        of_one = [letter for each, letter in waiting if each == author]
        self.try_out("changed", user, b"hear", [last[:-1] + bytes([last[-1] ^ 1])])
        self.try_out("taken to another user", (user + 1) % len(self._lines), b"hear", [last])
        self.try_out("withheld", user, b"step", [])
        if len(of_one) > 1:
            self.try_out("reordered", user, b"hear", of_one[::-1])
        if "sent again" in self.refusals:
            return waiting
        letters = [letter for _, letter in waiting]
        self.ask(user, b"hear", letters)
        self.try_out("sent again", user, b"hear", letters)
        return []

    def try_out(self, name: str, user: int, word: bytes, letters: Sequence[bytes]) -> None:
        """Notes how a user refuses, the first time."""
        if name not in self.refusals:
            try:
                self.ask(user, word, letters)
            except RuntimeError as error:
                self.refusals[name] = str(error)

    def models(self) -> np.ndarray:
        """Each user's model, which it shows for this demonstration alone."""
        told = [self.ask(user, b"model")[0] for user in range(len(self._lines))]
        return np.stack([np.frombuffer(each, "<f8") for each in told])


def run(users: int) -> tuple[np.ndarray, Relay]:
    """Starts all processes, lets them learn, and gives what they learned."""
    context = multiprocessing.get_context("fork")
    pairs = [context.Pipe() for _ in range(users)]
    processes = [
        context.Process(target=live, args=(theirs, number, users), daemon=True)
        for number, (_, theirs) in enumerate(pairs)
    ]
    for process in processes:
        process.start()
    lines = [ours for ours, _ in pairs]
    # In life users have each other's keys from elsewhere, and not by the relay.
    roster = [line.recv_bytes() for line in lines]
    for line in lines:
        line.send_bytes(PARTS.encode(tuple(roster)))
    relay = Relay(lines, roster, [line.recv_bytes() for line in lines])
    for user in setting(users)[2]:
        relay.turn(user)
    found = relay.models()
    for line, process in zip(lines, processes, strict=True):
        line.send_bytes(b"")
        process.join()
    return found, relay


def main(users: int = 20) -> None:
    """Run the demonstration."""
    models, relay = run(users)
    people, graph, actors = setting(users)
    simulated = fit_descent(
        problem(people, None), privacy=None, graph=graph, seed=SEED, steps=len(actors)
    )
    print(f"{users} processes, {len(actors)} steps, {relay.carried} letters")
    for name in TRICKS:
        print(f"{name}: {relay.refusals.get(name, 'NOT REFUSED')}")
    if len(relay.refusals) < len(TRICKS) or not np.array_equal(models, simulated.model):
        sys.exit("something was not refused, or models are others")
    print("the models are those of the simulation, bit for bit")


if __name__ == "__main__":
    main()
