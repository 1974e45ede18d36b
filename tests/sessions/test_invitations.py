"""Keys that get on a roster over a channel anybody can write to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gopa.sessions.invitations import Invitation, InvitationAnswer, admitted
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import MalformedMessage, UsageError


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
