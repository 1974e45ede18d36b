"""At least one log for each check that is rejected, with the twin that is accepted.

What an organiser or a board does wrong is done to the twin's entries, or played. What parties
do wrong spoils nothing as long as the organiser keeps the rules; so there an organiser, whose own
evaluation lacks the check, plays along: it lists whom it should not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from hashlib import sha256
from importlib import import_module
from typing import Any, Final

import pytest

from bulletin_board import NoteSigner, TrustPolicy
from bulletin_board.note import KeyKind, SignedNote, cosign
from gopa.adversary.deeds import accuse, spoil_proof, spoil_value, unproved_key, wrong_seed
from gopa.adversary.setup import FOUR
from gopa.auditing import Anchors, auditor
from gopa.auditing.reading import LogState
from gopa.auditing.report import Status
from gopa.contract.party import OPENING, About, EdgeOpenings
from gopa.contract.phases import Kind, Phase
from gopa.protocol.organiser import SessionSetting
from gopa.protocol.party import Post
from gopa.protocol.party.policy import LocalPolicy
from gopa.protocol.rules.final_phases import UnmaskRules
from gopa.protocol.rules.publish import PublishRules
from gopa.protocol.rules.rollback import RollbackRules
from gopa.protocol.rules.rounds import RoundSequence
from gopa.protocol.simulation import Script
from gopa.protocol.simulation.access import PartyAccess
from gopa.protocol.simulation.script import Honest
from tests.auditing.disabling import (
    Disable,
    believed,
    ignored,
    nobody_convicted,
    overlooked,
    replaced,
    together,
    unproved,
)
from tests.auditing.logs import Log, archived, clean, key_named, note_of, played
from tests.auditing.transcripts import anchors_of, path_of
from tests.lies import lying
from tests.randomness import seeded
from tests.vectors.transcripts.catalogue import CASES
from tests.vectors.transcripts.worlds import (
    LEAVING,
    PLAIN,
    RECOVERY,
    SIGNED,
    WITNESSED,
    World,
)
from wire.secret import SecretBytes

Given = tuple[bytes, dict[str, Any]]
"""An archive, and what the reader brings."""

LIAR: Final = 1


@dataclass(frozen=True, slots=True)
class Negative:
    """`given` is rejected: the checks `fails` end as `status`. With `disable` it is accepted.

    `twin` is accepted. Where nothing follows the lie (`stops`) an auditor without the check
    has nobody to blame, and cannot say VALID all the same.
    """

    check: str
    given: Callable[[], Given]
    disable: Disable
    twin: Callable[[], Given]
    fails: tuple[str, ...] = ()
    status: Status = Status.FAIL
    stops: bool = False
    name: str = field(default="")


def of(log: Log, archive: bytes | None = None, **options: Any) -> Given:
    return archive if archive is not None else log.archive(), {"anchors": log.anchors, **options}


def plain_twin() -> Given:
    return of(clean())


def with_entries(*added: bytes) -> Given:
    log = replace(clean(), entries=(*clean().entries, *added))
    return of(log)


def before_the_end(added: bytes, last: bytes | None = None) -> Given:
    *before, result = clean().entries
    return of(replace(clean(), entries=(*before, added, last or result)))


def stored(name: str, **options: Any) -> Callable[[], Given]:
    return lambda: (path_of(name).read_bytes(), {"anchors": anchors_of(name), **options})


# Family 0


def _another_kind() -> Given:
    return of(clean(), clean().archive(OTHER_MAGIC))


def _another_board() -> Given:
    log = replace(clean(), signer=board_named("another board"))
    digest = sha256(log.manifest.to_bytes()).digest()
    return of(log, anchors=Anchors(TrustPolicy.single_log(log.signer.verifier), digest))


def _another_manifest() -> Given:
    return of(clean(), anchors=replace(clean().anchors, manifest=bytes(32)))


OTHER_MAGIC: Final = b"GOPA-ARCHIVE/v1\n"


@cache
def board_named(name: str) -> NoteSigner:
    secret = SecretBytes(seeded(f"auditing: {name}")(32))
    return NoteSigner(clean().signer.verifier.name, KeyKind.LOG, secret)


# Family 1


def _signed_by_another() -> Given:
    log = clean()
    note = note_of(log.entries, board_named("forger"))
    return of(log, archived(log.entries, note, log.manifest.session))


def _witness() -> NoteSigner:
    return NoteSigner("witness", KeyKind.WITNESS, SecretBytes(seeded("auditing: w")(32)))


def _with_quorum() -> Anchors:
    key = _witness().verifier
    text = f"log {clean().signer.verifier}\nwitness w {key}\nquorum w\n".encode()
    return replace(clean().anchors, policy=TrustPolicy.parse(text))


def _cosigned(entries: Sequence[bytes]) -> bytes:
    note = SignedNote.parse(note_of(entries, clean().signer))
    return note.with_signatures([cosign(note.text, _witness(), 1_000)]).to_bytes()


def seen_by_a_witness(before: Sequence[bytes]) -> Given:
    """A log that a witness cosigned, whose reader has a state that it had cosigned, too."""
    log = clean()
    archive = archived(log.entries, _cosigned(log.entries), log.manifest.session)
    return of(log, archive, anchors=_with_quorum(), since=_cosigned(before))


def _trailing() -> Given:
    return of(clean(), clean().archive() + b"\0")


def _ended_anyway(state: LogState, error: Exception) -> None:
    del error
    state.ended = True


def _repeated() -> Given:
    return with_entries(clean().entries[3])


def _forked() -> Given:
    log = clean()
    return of(log, since=note_of(log.entries[:2] + log.entries[3:9], log.signer))


# Families 2 and 3


def _another_round() -> Given:
    return with_entries(clean().entry(kind=int(Kind.OPEN), round=2, body=bytes(36)))


def _out_of_order() -> Given:
    return before_the_end(clean().entry(round=7, body=bytes(60)))


def _stopped() -> Given:
    return of(replace(clean(), entries=clean().entries[:-1]))


def _lost_a_message() -> Given:
    return with_entries(clean().entry(seq=40, body=b"lost"))


def _unsigned() -> Given:
    key = key_named("stranger")
    stranger = replace(clean(), organiser=key)
    entry = stranger.entry(phase=1, kind=int(Kind.JOIN), author=key.public)
    return with_entries(entry[:-1] + bytes([entry[-1] ^ 1]))


def _two_results() -> Given:
    last = _entry(clean().entries[-1])
    return with_entries(clean().entry(kind=last.kind, seq=last.seq, body=last.body[:-1] + b"\1"))


def _acts_on_nothing() -> Given:
    last = _entry(clean().entries[-1])
    wrong = clean().entry(kind=last.kind, seq=last.seq, body=bytes(32) + last.body[32:])
    again = clean().entry(kind=last.kind, seq=last.seq + 1, body=last.body)
    return before_the_end(wrong, again)


def _entry(raw: bytes) -> Any:
    from bulletin_board import Submission

    return Submission.decode(raw).entry


# Families 4 to 7: played with an organiser that lacks the check


def colluding(disable: Disable, world: World, script: Script) -> Callable[[], Given]:
    """A session in which the organiser's own rules lack what `disable` takes away."""

    @cache
    def make() -> Log:
        with pytest.MonkeyPatch.context() as patch:
            disable(patch)
            return played(world, script)

    return lambda: of(make())


def twin_of(world: World, script: Script | None = None) -> Callable[[], Given]:
    @cache
    def make() -> Log:
        return played(world, script)

    return lambda: of(make())


@dataclass(frozen=True, slots=True)
class OpensMore(Honest):
    """Opens an edge to somebody who is still there, beside those that it owes."""

    def says(self, access: PartyAccess, post: Post) -> Sequence[Post]:
        if post.phase is not Phase.ROLLBACK:
            return [post]
        return [access.altered(post, OPENING, _twice)]


def _twice(content: EdgeOpenings) -> EdgeOpenings:
    first = content.edges[0]
    there = 0 if first.neighbour else 2
    edges = sorted((*content.edges, replace(first, neighbour=there)), key=lambda e: e.neighbour)
    return replace(content, edges=tuple(edges))


def _any_opening(stage: RollbackRules, message: Any) -> EdgeOpenings:
    opening = OPENING.decode(message.body)
    owed = stage.owed.get(stage.state.places[message.author], {})
    return replace(opening, edges=tuple(e for e in opening.edges if e.neighbour in owed))


def _nothing(*_: object, **__: object) -> None:
    """A check that looks at nothing."""


def _none_wrong(*_: object, **__: object) -> frozenset[int]:
    return frozenset()


ANY_OPENING: Final = replaced(RollbackRules, "_read", _any_opening)
ANY_MANIFEST: Final = replaced(
    import_module("gopa.contract.manifest"), "require_agreement", _nothing
)
ANY_WORTH: Final = replaced(import_module("gopa.protocol.rules.ledger"), "require_worth", _nothing)
ANY_SUMS: Final = replaced(import_module("gopa.protocol.rules.ledger"), "require_one_sum", _nothing)
ANY_PLAN: Final = replaced(LocalPolicy, "_require_privacy", _nothing)
ANY_TERMS: Final = together(ANY_WORTH, ANY_PLAN, replaced(LocalPolicy, "require_joined", _nothing))
"""Nobody asks what a plan is worth."""

ANY_VALUE: Final = replaced(PublishRules, "_wrong", _none_wrong)
ANY_SEED: Final = replaced(UnmaskRules, "_wrong", _none_wrong)
ANY_MAGIC: Final = together(
    replaced(import_module("bulletin_board.archive"), "MAGIC", OTHER_MAGIC),
    replaced(import_module("gopa.auditing.sources"), "MAGIC", OTHER_MAGIC),
)
ANY_SIGNATURE: Final = replaced(
    import_module("gopa.auditing.reading"), "wrong_signatures", _none_wrong
)
ANY_CHECKPOINT: Final = replaced(
    import_module("gopa.protocol.rules.rounds"), "require_given", _nothing
)

WORDY: Final = World(FOUR, SessionSetting(word_width=8))
BOASTING: Final = World(replace(FOUR, delta=Decimal("1e-9")))
ONE_LEAVES: Final = Script().drop(3, before=Phase.PUBLISH)


def liar(behaviour: Any) -> Script:
    return Script().misbehave(LIAR, behaviour)


def conspiring(  # noqa: PLR0917 - the parts of a case
    check: str,
    disable: Disable,
    world: World,
    script: Script,
    fails: str,
    base: Script | None = None,
) -> Negative:
    return Negative(
        check, colluding(disable, world, script), disable, twin_of(world, base), (fails,)
    )


def lying_organiser(check: str, name: str, disable: Disable, *, stops: bool = False) -> Negative:
    return Negative(check, stored(name), disable, stored(CASES[name].twin), stops=stops, name=name)


NEGATIVES: Final = (
    Negative("0.1", _another_kind, ANY_MAGIC, plain_twin),
    Negative("0.2", _another_board, ignored("0.2"), plain_twin),
    Negative(
        "0.2",
        lambda: of(clean(), anchors=replace(clean().anchors, policy=None)),
        ignored("0.2"),
        plain_twin,
        status=Status.MISSING,
        name="missing",
    ),
    Negative("0.3", _another_manifest, ignored("0.3"), plain_twin),
    Negative(
        "0.3",
        lambda: of(clean(), anchors=replace(clean().anchors, manifest=None)),
        ignored("0.3"),
        plain_twin,
        status=Status.MISSING,
        name="missing",
    ),
    Negative(
        "0.4",
        stored("clean_drand", chains=()),
        ignored("0.4"),
        stored("clean_drand"),
        status=Status.MISSING,
    ),
    Negative("1.1", _signed_by_another, ignored("1.1"), plain_twin),
    Negative(
        "1.2",
        lambda: of(clean(), anchors=_with_quorum()),
        ignored("1.2"),
        plain_twin,
        status=Status.MISSING,
    ),
    Negative(
        "1.3",
        _trailing,
        together(ignored("1.3"), replaced(auditor, "note_early_end", _ended_anyway)),
        plain_twin,
    ),
    Negative("1.4", _repeated, ignored("1.4"), plain_twin),
    Negative("1.5", _forked, ignored("1.5"), plain_twin),
    Negative(
        "1.5",
        lambda: seen_by_a_witness(clean().entries[:2] + clean().entries[3:9]),
        ignored("1.5"),
        lambda: seen_by_a_witness(clean().entries[:8]),
        name="witness",
    ),
    Negative("2.1", _another_round, overlooked("2.1"), plain_twin),
    Negative("2.2", _out_of_order, overlooked("2.2"), plain_twin),
    Negative("2.3", _stopped, ignored("2.3"), plain_twin, status=Status.MISSING),
    Negative(
        "2.4", _lost_a_message, replaced(RoundSequence, "broken_control", _nothing), plain_twin
    ),
    Negative("3.1", _unsigned, ANY_SIGNATURE, plain_twin),
    Negative("3.2", _two_results, ignored("3.2"), plain_twin),
    Negative("3.3", _acts_on_nothing, overlooked("3.3"), plain_twin),
    Negative(
        "4.1",
        colluding(ANY_CHECKPOINT, WITNESSED, CASES["organiser_checkpoint_missing"].script),
        ANY_CHECKPOINT,
        twin_of(WITNESSED),
    ),
    lying_organiser("4.2", "organiser_cut_beyond_the_log", believed("4.2"), stops=True),
    lying_organiser("4.2", "organiser_foreign_root", believed("4.2"), stops=True),
    lying_organiser("4.3", "organiser_wrong_publish_list", believed("4.3"), stops=True),
    lying_organiser("4.4", "organiser_drand_cosigned_late", ANY_CHECKPOINT, stops=True),
    conspiring(
        "4.5",
        ANY_OPENING,
        LEAVING,
        Script().drop(3, before=Phase.PUBLISH).misbehave(LIAR, OpensMore()),
        "4.3",
        ONE_LEAVES,
    ),
    Negative("5.1", colluding(ANY_MANIFEST, WORDY, Script()), ANY_MANIFEST, plain_twin),
    Negative(
        "5.2",
        colluding(together(ANY_WORTH, ANY_PLAN), BOASTING, Script()),
        ANY_WORTH,
        plain_twin,
    ),
    conspiring("5.3", nobody_convicted, PLAIN, liar(lying("accuse", accuse())), "4.3"),
    conspiring(
        "6.1", unproved("bad_possessions"), PLAIN, liar(lying("join", unproved_key())), "4.3"
    ),
    conspiring("6.2", unproved("bad_noises"), PLAIN, liar(lying("commit", spoil_proof())), "4.3"),
    conspiring("6.3", ANY_VALUE, PLAIN, liar(lying("publish", spoil_value())), "4.3"),
    conspiring("6.4", ANY_SEED, SIGNED, liar(lying("unmask", wrong_seed())), "6.4"),
    conspiring(
        "6.5", nobody_convicted, RECOVERY, liar(lying("accuse", accuse(about=About.SHARE))), "4.3"
    ),
    lying_organiser("7.1", "organiser_hides_an_exclusion", believed("7.1")),
    lying_organiser("7.2", "organiser_wrong_sum", believed("7.2")),
)
"""All but 7.3, of which only the auditor itself can fall short."""
