"""Tickets: one JSON object, read strictly, that vouches for one session."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bulletin_board import KeyKind, TrustPolicy
from gopa.contract.manifest import session_id
from gopa.protocol.organiser import SessionSetting, new_manifest
from gopa.sessions.invitations import Invitation, InvitationAnswer, admitted
from gopa.sessions.ticket import LARGEST_TICKET, Ticket, checked_manifest
from tests.board.tools import log_key, signer
from tests.protocol.simulation.worlds import SCALAR
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import InvalidProof, MalformedMessage, UsageError

SESSION = bytes(range(32))


WITNESS = signer("witness.example/1", KeyKind.WITNESS).verifier


POLICY = f"log {log_key()}\nwitness w {WITNESS}\nquorum w\n".encode()


PLAIN = Ticket("https://board.example", log_key(), SESSION)


WITNESSED = replace(PLAIN, policy=POLICY)


TICKETS = {"log alone": PLAIN, "witnesses": WITNESSED}


@pytest.mark.parametrize("ticket", TICKETS.values(), ids=TICKETS)
def test_ticket_is_the_same_when_it_is_read(tmp_path: Path, ticket: Ticket) -> None:
    ticket.write(tmp_path / "ticket.json")
    found = Ticket.read(tmp_path / "ticket.json")
    assert found == ticket
    assert found.to_json() == ticket.to_json()
    assert found.trust.needs_witnesses == bool(ticket.policy)
    assert found.trust.log.key == log_key()


def facts(ticket: Ticket = WITNESSED) -> dict[str, object]:
    found = json.loads(ticket.to_json())
    assert isinstance(found, dict)
    return found


WRONG: dict[str, tuple[dict[str, object], str]] = {
    "version 2": ({"version": 2}, "version"),
    "version true": ({"version": True}, "version"),
    "version text": ({"version": "1"}, "version"),
    "unknown name": ({"note": ""}, "note"),
    "board number": ({"board": 5}, "board"),
    "board scheme": ({"board": "ftp://board.example"}, "board"),
    "board without host": ({"board": "https://"}, "board"),
    "board without scheme": ({"board": "board.example"}, "board"),
    "board user": ({"board": "https://me:secret@board.example"}, "board"),
    "board query": ({"board": "https://board.example?x"}, "board"),
    "board fragment": ({"board": "https://board.example#x"}, "board"),
    "board port": ({"board": "https://board.example:99999"}, "board"),
    "board space": ({"board": "https://board.example/a b"}, "board"),
    "board newline": ({"board": "https://board.example/\n"}, "board"),
    "board letters": ({"board": "https://b\u00f6rd.example"}, "board"),
    "board long": ({"board": "https://board.example/" + "a" * 3000}, "board"),
    "board bracket": ({"board": "https://[::1"}, "board"),
    "log text": ({"log": "nonsense"}, "log"),
    "log spaces": ({"log": f" {log_key()}"}, "log"),
    "log of a witness": ({"log": str(WITNESS)}, "log"),
    "another log": ({"log": str(signer("other").verifier)}, "policy"),
    "session short": ({"session": "00"}, "session"),
    "session capitals": ({"session": SESSION.hex().upper()}, "session"),
    "session number": ({"session": 0}, "session"),
    "policy no base64": ({"policy": "*"}, "policy"),
    "policy line": ({"policy": base64.b64encode(POLICY).decode() + "\n"}, "policy"),
    "policy bits": ({"policy": "AB=="}, "policy"),
    "policy nonsense": ({"policy": base64.b64encode(b"nonsense").decode()}, "policy"),
    "policy null": ({"policy": None}, "policy"),
}


@pytest.mark.parametrize(("change", "field"), WRONG.values(), ids=WRONG)
def test_ticket_is_read_strictly(change: dict[str, object], field: str) -> None:
    assert Ticket.from_json(json.dumps(facts()).encode()) == WITNESSED
    with pytest.raises(MalformedMessage) as caught:
        Ticket.from_json(json.dumps(facts() | change).encode())
    assert caught.value.field == field


@pytest.mark.parametrize("name", sorted(facts()))
def test_every_name_is_there_once(name: str) -> None:
    found = facts()
    assert Ticket.from_json(json.dumps(found).encode()) == WITNESSED
    twice = json.dumps(found)[:-1] + f", {json.dumps(name)}: {json.dumps(found[name])}}}"
    with pytest.raises(MalformedMessage) as caught:
        Ticket.from_json(twice.encode())
    assert caught.value.field == name
    del found[name]
    with pytest.raises(MalformedMessage) as caught:
        Ticket.from_json(json.dumps(found).encode())
    assert caught.value.field == name


NO_OBJECT = {
    "empty": b"",
    "list": b"[]",
    "text": b'"ticket"',
    "half": PLAIN.to_json()[:-5],
    "two": PLAIN.to_json() * 2,
    "bytes": b"\xff" + PLAIN.to_json(),
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "long": PLAIN.to_json() + b" " * LARGEST_TICKET,
}


@pytest.mark.parametrize("data", NO_OBJECT.values(), ids=NO_OBJECT)
def test_what_is_no_ticket(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        Ticket.from_json(data)
    path = tmp_path / "ticket.json"
    path.write_bytes(PLAIN.to_json())
    assert Ticket.read(path) == PLAIN
    path.write_bytes(data)
    with pytest.raises(UsageError):
        Ticket.read(path)


def test_ticket_is_made_of_the_right_things() -> None:
    Ticket(PLAIN.board, PLAIN.log, SESSION)
    for session in (SESSION[:-1], SESSION + b"\0", b"", SESSION.hex(), bytearray(SESSION)):
        with pytest.raises(UsageError) as caught:
            Ticket(PLAIN.board, PLAIN.log, session)  # type: ignore[arg-type]
        assert caught.value.field == "session"
    assert Ticket.from_json(PLAIN.to_json()) == PLAIN
    for data in (PLAIN.to_json().decode(), bytearray(PLAIN.to_json()), None):
        with pytest.raises(UsageError):
            Ticket.from_json(data)  # type: ignore[arg-type]


def test_ticket_that_is_not_there(tmp_path: Path) -> None:
    for place in (tmp_path / "none", tmp_path):
        with pytest.raises(UsageError):
            Ticket.read(place)
    with pytest.raises(UsageError):
        PLAIN.write(tmp_path / "no" / "ticket.json")


@given(st.binary(max_size=400))
def test_any_bytes_are_a_ticket_or_malformed(data: bytes) -> None:
    try:
        ticket = Ticket.from_json(data)
    except MalformedMessage:
        return
    assert Ticket.from_json(ticket.to_json()) == ticket


@given(st.integers(0, len(WITNESSED.to_json()) - 1), st.integers(0, 255))
def test_changed_ticket_is_another_one_or_malformed(place: int, byte: int) -> None:
    data = bytearray(WITNESSED.to_json())
    data[place] = byte
    try:
        ticket = Ticket.from_json(bytes(data))
    except MalformedMessage:
        return
    assert Ticket.from_json(ticket.to_json()) == ticket


def test_ticket_holds_for_its_manifest_alone() -> None:
    keys = [SigningKey.generate(seeded(number)).public.data for number in range(SCALAR.parties)]
    organiser = SigningKey.generate(seeded("organiser")).public.data

    def manifest(seed: str, policy: TrustPolicy | None = None):  # type: ignore[no-untyped-def]  # noqa: ANN202
        return new_manifest(
            SCALAR,
            keys,
            organiser=organiser,
            log=log_key(),
            rng=seeded(seed),
            setting=SessionSetting(),
            policy=policy,
        )

    mine, other = manifest("salt"), manifest("other salt")
    witnessed = manifest("salt", TrustPolicy.parse(POLICY))
    ticket = replace(PLAIN, session=mine.session)
    assert checked_manifest(ticket, mine.to_bytes()) == mine
    full = Ticket(PLAIN.board, log_key(), witnessed.session, witnessed.policy)
    assert checked_manifest(full, witnessed.to_bytes()) == witnessed
    for wrong in (
        replace(ticket, session=other.session),
        replace(ticket, policy=witnessed.policy),
        replace(ticket, log=signer("other").verifier),
    ):
        with pytest.raises(InvalidProof) as caught:
            checked_manifest(wrong, mine.to_bytes())
        assert caught.value.check == "12-T2"
    with pytest.raises(InvalidProof):
        checked_manifest(replace(full, policy=b""), witnessed.to_bytes())


def test_board_shows_the_manifest_of_the_ticket() -> None:
    """Whoever took another one would join another session than it was invited to."""
    keys = [SigningKey.generate(seeded(number)).public.data for number in range(SCALAR.parties)]
    organiser = SigningKey.generate(seeded("organiser")).public.data
    mine, other = (
        new_manifest(SCALAR, keys, organiser=organiser, log=log_key(), rng=seeded(salt))
        for salt in ("salt", "other salt")
    )
    ticket = replace(PLAIN, session=mine.session)
    assert checked_manifest(ticket, mine.to_bytes()) == mine
    for body in (other.to_bytes(), mine.to_bytes()[:-1], b""):
        with pytest.raises(InvalidProof) as caught:
            checked_manifest(ticket, body)
        assert caught.value.check == "12-T2"


def test_a_session_of_another_version_says_so() -> None:
    """Its other fields would be refused for something that nobody can mend."""
    keys = [SigningKey.generate(seeded(number)).public.data for number in range(SCALAR.parties)]
    organiser = SigningKey.generate(seeded("organiser")).public.data
    now = new_manifest(SCALAR, keys, organiser=organiser, log=log_key(), rng=seeded("salt"))
    assert checked_manifest(replace(PLAIN, session=now.session), now.to_bytes()) == now
    old = (3).to_bytes(2) + now.to_bytes()[2:-1]
    with pytest.raises(MalformedMessage) as caught:
        checked_manifest(replace(PLAIN, session=session_id(old)), old)
    assert caught.value.field == "manifest.version"
    assert "create another one" in str(caught.value)


def invited(count: int) -> tuple[list[Invitation], list[InvitationAnswer]]:
    invitations = [Invitation.fresh(seeded(i)) for i in range(count)]
    keys = [SigningKey.generate(seeded(100 + i)).public.data for i in range(count)]
    return invitations, [each.enrol(key) for each, key in zip(invitations, keys, strict=True)]


def test_answers_make_a_roster() -> None:
    invitations, answers = invited(3)
    expected = tuple(sorted(each.key for each in answers))
    assert admitted(invitations, answers) == expected
    assert admitted(invitations, [*answers, answers[0]]) == expected
    assert admitted(invitations, answers[:1]) == (answers[0].key,)


def test_nobody_else_can_answer() -> None:
    invitations, answers = invited(3)
    assert admitted(invitations, answers)
    other = SigningKey.generate(seeded(7)).public.data
    exchanged = replace(answers[0], key=other)
    taken = replace(answers[0], name=answers[1].name)
    strange = Invitation.fresh(seeded(50)).enrol(other)
    second = invitations[0].enrol(other)
    twice = invitations[1].enrol(answers[0].key)
    for wrong in (
        [exchanged],
        [taken],
        [strange],
        [answers[0], second],
        [answers[0], twice],
        [replace(answers[0], code=answers[1].code)],
    ):
        with pytest.raises(UsageError):
            admitted(invitations, wrong)


def test_tokens_and_lines_are_read_strictly() -> None:
    invitations, answers = invited(1)
    token, line = invitations[0].reveal(), str(answers[0])
    assert Invitation.parse(f" {token}\n").name == invitations[0].name
    assert InvitationAnswer.parse(line) == answers[0]
    for wrong in ("", token[:-1], token + "a", token[16:], token.replace("gopa", "goba"), "0" * 48):
        with pytest.raises(UsageError) as refusal:
            Invitation.parse(wrong)
        assert not wrong or wrong not in str(refusal.value)
    words = line.split()
    for wrong in (
        "",
        line.upper(),
        line + "\n",
        " ".join(words[1:]),
        " ".join([*words, "0"]),
        f"enrolment {words[1]} {'ff' * 32} {words[3]}",
    ):
        with pytest.raises(MalformedMessage):
            InvitationAnswer.parse(wrong)


def test_a_token_is_not_shown() -> None:
    invitations, answers = invited(1)
    token = invitations[0].reveal()
    assert token.removeprefix("gopa-invitation-") not in repr(invitations[0]) + str(answers[0])
