"""Texts and files that strangers or users write: tickets, keys, beacons, rosters, values."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bulletin_board import VerifierKey
from bulletin_board.admission import RefusalReason, Refused, parse_problem, problem_body
from bulletin_board.note import SignedNote
from bulletin_board.policy import TrustPolicy
from gopa.adversary.privacy import read_plan
from gopa.auditing import Anchors
from gopa.auditing.evidence import Evidence
from gopa.cli.options import read_value
from gopa.cli.plan import as_record
from gopa.cli.roster import read_roster
from gopa.cli.session_create import read_invitations
from gopa.cli.simulate_output import read_inputs
from gopa.contract.beacon import QUICKNET, parse_chain_info
from gopa.plugins.flower.layout import ModelLayout
from gopa.sessions.invitations import Invitation, InvitationAnswer
from gopa.sessions.organising.beacons import parse_round
from gopa.sessions.ticket import Ticket
from tests.board.tools import log_key, trust
from tests.fuzzing.mutations import changed
from tests.fuzzing.samples import evidence
from tests.fuzzing.test_codecs import EXAMPLES
from tests.planning.samples import plan
from tests.randomness import seeded
from wire.ed25519 import SigningKey
from wire.errors import GopaError, MalformedMessage

Parser = Callable[[bytes], object]


def _of_text(parse: Callable[[str], object]) -> Parser:
    return lambda data: parse(data.decode("latin-1"))


def _array(values: np.ndarray[Any, Any]) -> bytes:
    out = io.BytesIO()
    np.save(out, values)
    return out.getvalue()


def _evidence() -> bytes:
    return next(each for each in evidence() if isinstance(each, Evidence)).to_bytes()


PLAN: Final = plan(n=20, epsilon=1, delta="1e-4")
INVITATION: Final = Invitation.fresh(seeded("fuzzing invitations"))
KEY: Final = SigningKey.generate(seeded("fuzzing keys")).public
TICKET: Final = Ticket("https://board.example", log_key(), bytes(32), trust().to_bytes())
LAYOUT: Final = ModelLayout("num-examples", "64", -1.0, 1.0, (("loss", 0.0, 10.0),))
ROUND: Final = {"round": 7, "signature": "ab" * 48, "previous_signature": "cd" * 48}
CHAIN: Final = {
    "public_key": QUICKNET.public_key.hex(),
    "period": QUICKNET.period,
    "genesis_time": QUICKNET.genesis,
    "hash": QUICKNET.chain_hash.hex(),
    "groupHash": QUICKNET.group_hash.hex(),
    "schemeID": QUICKNET.scheme.title,
    "metadata": {"beaconID": QUICKNET.beacon_id},
}

JSON: Final[dict[str, tuple[bytes, Parser]]] = {
    "ticket": (TICKET.to_json(), Ticket.from_json),
    "layout of a model": (LAYOUT.to_json().encode(), _of_text(ModelLayout.from_json)),
    "round of drand": (json.dumps(ROUND).encode(), parse_round),
    "chain of drand": (json.dumps(CHAIN).encode(), parse_chain_info),
    "problem": (problem_body(Refused(RefusalReason.QUOTA, "too much", None, 3, 4)), parse_problem),
}
"""Documents of strangers: refused as malformed, and never otherwise."""

TEXTS: Final[dict[str, tuple[bytes, Parser]]] = {
    **JSON,
    "invitation": (INVITATION.reveal().encode(), _of_text(Invitation.parse)),
    "enrolment": (str(INVITATION.enrol(KEY.data)).encode(), _of_text(InvitationAnswer.parse)),
    "verifier key": (str(log_key()).encode(), _of_text(VerifierKey.parse)),
    "policy": (trust().to_bytes(), TrustPolicy.parse),
    "anchors": (Anchors(trust(), bytes(32)).to_bytes(), Anchors.parse),
    "note": (
        b"board.example/log\n3\nAAAA\n\n\xe2\x80\x94 board.example/log AAAAAAAA\n",
        SignedNote.parse,
    ),
    "evidence": (_evidence(), Evidence.parse),
}

FILES: Final[dict[str, tuple[bytes, Callable[[Path], object]]]] = {
    "array.npy": (_array(np.arange(4.0)), lambda path: read_value(None, path)),
    "numbers.json": (b"[0.25, [1, 2], 3e2]", lambda path: read_value(None, path)),
    "numbers.txt": (b"0.25, 1 2\n3e2\n", lambda path: read_value(None, path)),
    "inputs.npy": (_array(np.ones((3, 2))), lambda path: read_inputs(path, 2)),
    "inputs.json": (b"[[0, 1], [1, 0]]", lambda path: read_inputs(path, 2)),
    "plan.json": (json.dumps(as_record(PLAN)).encode(), read_plan),
    "roster.txt": (f"# keys\n{KEY.data.hex()}\n".encode(), read_roster),
    "invitations.txt": (f"{INVITATION.reveal()}\n".encode(), read_invitations),
}
"""Files of the user: a usage error says what is wrong with them."""

ANYTHING: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
DEEP: Final = [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 100_000 + b"]" * 100_000]


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_changed_is_read_or_refused(name: str) -> None:
    seed, parse = TEXTS[name]
    parse(seed)

    @settings(max_examples=2 * EXAMPLES, deadline=None)
    @given(data=changed([seed]) | st.binary(max_size=200) | st.sampled_from(DEEP))
    def run(data: bytes) -> None:
        _refused_or_read(parse, data)

    run()


@pytest.mark.parametrize("name", JSON)
def test_fields_of_any_type(name: str) -> None:
    seed, parse = JSON[name]
    parse(seed)
    document = json.loads(seed)

    @settings(max_examples=4 * EXAMPLES, deadline=None)
    @given(field=st.sampled_from(sorted(document)), value=ANYTHING)
    def run(field: str, value: Any) -> None:
        data = json.dumps({**document, field: value}).encode()
        try:
            parse(data)
        except MalformedMessage:
            return

    run()


@pytest.mark.parametrize("name", FILES)
def test_files_of_the_user(name: str, tmp_path: Path) -> None:
    seed, parse = FILES[name]
    path = tmp_path / name
    path.touch(0o600)
    path.write_bytes(seed)
    parse(path)

    @settings(
        max_examples=2 * EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(data=changed([seed]) | st.binary(max_size=200) | st.sampled_from([*DEEP, b"PK\x03\x04"]))
    def run(data: bytes) -> None:
        path.write_bytes(data)
        _refused_or_read(lambda _: parse(path), b"")

    run()


def _refused_or_read(parse: Parser, data: bytes) -> None:
    with contextlib.suppress(GopaError):
        parse(data)
