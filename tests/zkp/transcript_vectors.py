"""What `specs/vectors/transcript.json` holds: calls of a transcript and what they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from commitments import ristretto255
from commitments.group import Group
from tests.randomness import seeded
from zkp.transcript import Transcript

Step = dict[str, object]
PROTOCOL: Final = b"gopa/v1 test vectors"


def _integer(value: int) -> Step:
    return {"call": "absorb_int", "label": "n", "value": str(value)}


INTEGERS: Final = (0, 1, -1, 127, 128, -128, -129, 2**80)
ENTRIES: Final[list[Step]] = [
    {"call": "absorb", "label": "context", "data": "68657265"},
    {"call": "absorb", "label": "", "data": ""},
    {"call": "absorb", "label": "a", "data": "6263"},
    {"call": "absorb", "label": "ab", "data": "63"},
    *(_integer(n) for n in INTEGERS),
    {"call": "absorb_points", "label": "points", "multiples": ["1", "2"]},
    {"call": "absorb_points", "label": "none", "multiples": []},
    {"call": "absorb_scalars", "label": "scalars", "values": ["0", "5", str(2**252)]},
]

DRAWS: Final[list[Step]] = [
    {"call": "challenges", "label": "one", "n": 1},
    {"call": "challenges", "label": "three", "n": 3},
    {"call": "session_id", "label": "session"},
    {"call": "nonces", "label": "nonces", "n": 2, "witness": ["3", "0"], "seed": "nonces"},
    {"call": "fork", "label": "party", "data": "01"},
    {"call": "challenges", "label": "one", "n": 1},
]


def play(group: Group, steps: list[Step]) -> list[Step]:
    """The steps with what each of them gives; the first binds something."""
    transcript, played = Transcript(PROTOCOL), []
    for step in steps:
        if step["call"] == "fork":
            transcript = transcript.fork(_label(step), bytes.fromhex(str(step["data"])))
            played.append(step)
        else:
            output = CALLS[str(step["call"])](group, transcript, step)
            played.append(step | ({} if output is None else {"output": output.hex()}))
    return played


def _label(step: Step) -> bytes:
    return str(step["label"]).encode()


CALLS: Final[dict[str, Callable[[Group, Transcript, Any], bytes | None]]] = {
    "absorb": lambda _, t, step: t.absorb(_label(step), bytes.fromhex(step["data"])),
    "absorb_int": lambda _, t, step: t.absorb_int(_label(step), int(step["value"])),
    "absorb_points": lambda group, t, step: t.absorb_points(
        _label(step),
        group.points([group.generator * group.scalar(int(n)) for n in step["multiples"]]),
    ),
    "absorb_scalars": lambda group, t, step: t.absorb_scalars(
        _label(step), group.scalars(map(int, step["values"]))
    ),
    "challenges": lambda group, t, step: t.challenges(_label(step), group, step["n"]).to_bytes(),
    "session_id": lambda _, t, step: t.digest(_label(step)),
    "nonces": lambda group, t, step: (
        t.nonces(
            _label(step),
            group,
            step["n"],
            group.secret_scalars(map(int, step["witness"])),
            seeded(step["seed"]),
        )
        .reveal()
        .to_bytes()
    ),
}


def records() -> dict[str, object]:
    """The content of the vector file."""
    group = ristretto255()
    return {
        "format": (
            "data and outputs in hexadecimal, integers in decimal; points as multiples of the "
            "generator; scalars in an output one after the other; nonces take as fresh bytes the "
            "first 32 of SHAKE256('gopa tests/' + seed + '/1')"
        ),
        "protocol": PROTOCOL.decode(),
        "traces": [
            play(group, [entry, {"call": "session_id", "label": "end"}]) for entry in ENTRIES
        ]
        + [play(group, [*ENTRIES, *DRAWS])],
    }
