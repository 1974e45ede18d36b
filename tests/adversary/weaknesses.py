"""For every attack the one defence without which it succeeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.adversary import served_switches, switches
from tests.auditing.disabling import (
    Disable,
    believed,
    ignored,
    nobody_convicted,
    overlooked,
    together,
    unproved,
)
from tests.auditing.negatives import ANY_OPENING, ANY_SEED, ANY_SUMS, ANY_VALUE, ANY_WORTH


@dataclass(frozen=True, slots=True)
class Weakness:
    """What a weakened build does not check, in words. `both` says why two checks have to go."""

    without: str
    disable: Disable
    both: str = ""


ANY_NOISE: Final = Weakness("proofs of commits", unproved("bad_noises"))
ANY_OPENED_VALUE: Final = Weakness("that values open commitments", ANY_VALUE)
ANY_POSSESSION: Final = Weakness("proofs of possession", unproved("bad_possessions"))
NO_COURT: Final = Weakness("convictions by accusations", nobody_convicted)
NO_EQUIVOCATION: Final = Weakness("evidence of two signatures", switches.TWO_SIGNATURES)
NO_BARS: Final = Weakness("bars after a failed attempt", switches.NOBODY_BARRED)
STALE: Final = Weakness("that seeds are fresh and inputs the same", switches.STALE_JOINS)
SILENT: Final = Weakness("that owed edges are opened", switches.SILENT_STAY)
ANY_LIST: Final = Weakness("lists of closes", believed("4.3"))
OMISSIONS: Final = Weakness("whom a list leaves out", switches.OMISSIONS)
ANY_CUT: Final = Weakness("cuts of closes", believed("4.2"))
ANY_END: Final = Weakness("reasons, culprits, removals", believed("7.1"))
ANY_CHECKPOINTS: Final = Weakness("checkpoints of closes", switches.UNWITNESSED)
ANY_ROOT: Final = Weakness(
    "roots in closes",
    switches.ANY_ROOT,
    "one rule: whoever stops is a party, whoever reads later an audit",
)
FEW_CONFIRMED: Final = Weakness("whether enough confirmed", switches.FEW_CONFIRMED)
NO_GRACE: Final = Weakness("that what was cut off is held against nobody", switches.NO_GRACE)
NO_RECORD: Final = Weakness("the record of removals", switches.NO_RECORD)
ANY_LENGTHS: Final = Weakness("proofs of lengths", unproved("bad_lengths"))
ANY_WORDS: Final = Weakness("proofs of words", unproved("bad_masks"))
UNDISPUTED: Final = Weakness("edges on which both ends disagree", switches.UNDISPUTED)
SEEN_BEFORE: Final = Weakness("what was seen before", ignored("1.5"))
NO_COMPARISON: Final = Weakness("whether checkpoints agree", served_switches.NO_COMPARISON)

WEAKNESSES: Final[Mapping[str, Weakness]] = {
    # accusations
    "false-accusation": NO_COURT,
    "false-accusation-of-a-share": Weakness("whether a share fits", switches.NO_SHARE_FITS),
    "forged-accusation": Weakness("proofs of shared keys", unproved("bad_shared")),
    "frame-the-neighbour": Weakness("proofs of shared keys", unproved("bad_shared")),
    "late-accusation": NO_COURT,
    # board
    "truncate-log": Weakness("that every round came to an end", ignored("2.3")),
    "hide-the-newest": SEEN_BEFORE,
    "rewrite-log": SEEN_BEFORE,
    "dropped-receipt": SEEN_BEFORE,
    "another-manifest": Weakness("the announced manifest", ignored("0.3")),
    "exact-downgrade": Weakness("the announced manifest", ignored("0.3")),
    "second-exact-sum": Weakness("that a round without noise releases one sum", ANY_SUMS),
    "manifest-claims-too-much": Weakness("what a plan is worth", ANY_WORTH),
    # coins
    "wrong-nonce": Weakness("hashes of nonces", switches.ANY_NONCE),
    "exchanged-nonce": ANY_LIST,
    "late-witnesses": ANY_CHECKPOINTS,
    # dropouts
    "abort-after-coins": NO_RECORD,
    "withheld-nonce": NO_RECORD,
    "draws-until-it-likes": Weakness("how many attempts there are", switches.MORE_ATTEMPTS),
    "late-return": Weakness("that lists never grow", switches.READMITTED),
    "withheld-publish": Weakness(
        "whether a party is listed itself",
        switches.OWN_PRESENCE,
        "one rule: a party looks for itself in every list, of publish and of confirm",
    ),
    "selective-dropping": Weakness(
        "the bound on lost neighbours",
        switches.ANY_LOSS,
        "one rule: the bound is applied to every list, by everybody, and by each party to itself",
    ),
    "return-after-conviction": NO_BARS,
    "changed-input-in-retry": STALE,
    # equivocation
    "equivocate": NO_EQUIVOCATION,
    "equivocate-key": NO_EQUIVOCATION,
    "equivocate-nonce": NO_EQUIVOCATION,
    "equivocate-commitments": NO_EQUIVOCATION,
    "equivocate-confirmation": NO_EQUIVOCATION,
    "second-signature-after-the-final-close": Weakness(
        "that evidence above the cut changes nothing", switches.STRIKES_FOR_EVER
    ),
    # keys
    "unproved-key": ANY_POSSESSION,
    "copied-dh-key": ANY_POSSESSION,
    "related-dh-key": ANY_POSSESSION,
    "key-of-two": Weakness("that keys are different", switches.SHARED_KEYS),
    "no-key": Weakness(
        "that keys are points, and proofs of possession",
        together(switches.ANY_JOIN, unproved("bad_possessions")),
        "the proof of possession does not hold for the identity either",
    ),
    "stranger": Weakness("the roster", switches.ANYBODY),
    # masks
    "wrong-mask": NO_COURT,
    "wrong-mask-signed": NO_COURT,
    "one-mask-twice": NO_COURT,
    "missing-edge": Weakness("that every edge is there", switches.FEWER_EDGES),
    "no-shares": Weakness("the sizes of commits", switches.ANY_SIZES),
    "wrong-share": NO_COURT,
    "zero-self-mask": Weakness("that self-masks are not the identity", switches.THE_IDENTITY),
    "copied-self-mask": ANY_OPENED_VALUE,
    "hidden-residual": SILENT,
    # noise
    "noise-off-by-one": ANY_NOISE,
    "noise-chosen-after-coins": ANY_NOISE,
    "copied-noise-seed": STALE,
    "shared-noise-seed": STALE,
    "reused-noise-seed": STALE,
    # openings
    "refuse-open": SILENT,
    "late-opening": SILENT,
    "wrong-opening": Weakness("that opened keys are the edges'", switches.ANY_KEY),
    "opens-more": Weakness("which edges are opened", ANY_OPENING),
    "betray": Weakness("openings behind the final close", switches.NO_STRAYS),
    "endless-refusals": NO_BARS,
    "refuse-confirm": NO_BARS,
    "refuse-unmask": NO_BARS,
    "veto-against-recovery": Weakness("recovery", switches.NO_RECOVERY),
    "wrong-seed": Weakness("that seeds make self-masks", ANY_SEED),
    "wrong-recovery": Weakness("who gives out wrong shares", switches.WRONG_SHARES_PASS),
    "another-seed": Weakness("who dealt another seed", switches.WRONG_SHARES_PASS),
    "another-seed-signed": Weakness("that dealt seeds make self-masks", switches.ANY_DEALT_SEED),
    # organiser
    "lying-result": Weakness("the sum", believed("7.2")),
    "hidden-exclusion": ANY_END,
    "invented-exclusion": ANY_END,
    "hidden-release": Weakness("numbers of rounds and releases", believed("2.1")),
    "made-up-result": Weakness("that masks are open before a result", believed("6.4")),
    "wrong-roll": OMISSIONS,
    "left-out-of-commit": OMISSIONS,
    "left-out-of-publish": OMISSIONS,
    "exchanged-key": ANY_LIST,
    "final-too-early": ANY_LIST,
    "final-too-late": ANY_LIST,
    "cut-moved": ANY_CUT,
    "cut-goes-back": ANY_CUT,
    "too-few-go-on": ANY_LIST,
    "early-cut": NO_GRACE,
    "early-cut-of-what-was-seen": Weakness("what the organiser says it saw", switches.BLIND),
    "early-cuts-bar": NO_GRACE,
    "foreign-root": ANY_ROOT,
    "root-of-another-size": ANY_ROOT,
    "two-closes": NO_EQUIVOCATION,
    "two-closes-in-a-row": Weakness("what a message acts on", overlooked("3.3")),
    "skipped-confirmations": FEW_CONFIRMED,
    "puppets": Weakness("who has revealed a nonce", switches.UNREAD),
    "phases-out-of-order": Weakness("the order of the organiser's messages", believed("2.2")),
    "one-attempt-more": Weakness("how many attempts there are", switches.MORE_ATTEMPTS),
    "abort-without-reason": ANY_END,
    "abort-blames-innocent": ANY_END,
    "abort-denies-release": ANY_END,
    "wrong-attempt": Weakness("numbers of rounds and releases", believed("2.1")),
    "unwitnessed-close": ANY_CHECKPOINTS,
    "close-without-checkpoint": ANY_CHECKPOINTS,
    # replays
    "replay-round": Weakness("what a message acts on", switches.ANY_ANSWER),
    "replayed-possession": ANY_POSSESSION,
    "replay-session": ANY_POSSESSION,
    "second-message": Weakness("second messages in a phase", switches.TWO_MESSAGES),
    "garbage": Weakness("the length of messages", switches.LONGER),
    "oversized-message": Weakness("the length of messages", switches.LONGER),
    "half-a-message": Weakness("numbers of chunks", switches.CHUNKS_IGNORED),
    "hides-behind-a-fork": ANY_OPENED_VALUE,
    # rows
    "long-vector": ANY_LENGTHS,
    "long-for-its-weight": ANY_LENGTHS,
    "spiked-noise": ANY_LENGTHS,
    "filled-padding": ANY_LENGTHS,
    "wrapped-entry": ANY_LENGTHS,
    "copied-rows": ANY_LENGTHS,
    "rows-changed-in-retry": STALE,
    "copied-lengths": ANY_LENGTHS,
    "replayed-lengths": ANY_LENGTHS,
    "noise-after-the-coins": ANY_WORDS,
    "permutation-of-another": ANY_WORDS,
    "abused-carries": ANY_WORDS,
    "words-changed-behind-the-close": NO_EQUIVOCATION,
    "two-answers-of-one-pad": NO_EQUIVOCATION,
    "head-alone": NO_RECORD,
    "two-proofs-behind-a-head": NO_EQUIVOCATION,
    "withheld-proof": NO_RECORD,
    "replayed-proof": ANY_WORDS,
    "false-edge": UNDISPUTED,
    "false-edge-of-two": Weakness("what opened edges were said to be", switches.ANY_MASK_OF_EDGES),
    "unopened-dispute": SILENT,
    "edge-of-another-close": UNDISPUTED,
    "false-self-mask": Weakness("what opened seeds were said to be", switches.ANY_MASK_OF_SEEDS),
    "another-seed-in-rows": Weakness(
        "that dealt seeds make self-masks, and what they were said to be",
        together(switches.ANY_DEALT_SEED, switches.ANY_MASK_OF_SEEDS),
        "what was proved of the own mask does not follow from the dealt seed either",
    ),
    "final-in-spite-of-a-dispute": ANY_LIST,
    "listed-without-a-proof": ANY_LIST,
    "listed-without-proving": ANY_LIST,
    # served
    "fork": NO_COMPARISON,
    "fork-after-final-close": NO_COMPARISON,
    "fork-of-proofs": NO_COMPARISON,
    "hidden-proof": Weakness(
        "what a lookup omits",
        served_switches.LOOKUPS_BELIEVED,
        "one rule: the log is read where somebody is missing, and where a step would accuse",
    ),
    "withheld-entry": NO_COMPARISON,
    "stale-view": Weakness("a party's patience", served_switches.ENDLESS_PATIENCE),
    "lying-lookup": Weakness(
        "what a lookup omits",
        served_switches.LOOKUPS_BELIEVED,
        "one rule: the log is read where somebody is missing, and where a step would accuse",
    ),
    "dropped-post": Weakness(
        "whether a party is listed itself",
        switches.OWN_PRESENCE,
        "one rule: a party looks for itself in every list, of publish and of confirm",
    ),
    "truncated-after-restart": NO_COMPARISON,
    "rewritten-history": Weakness("what was seen before", served_switches.FORGETFUL),
    "malformed-answers": Weakness("the types of fields", served_switches.ANY_PROBLEM),
    "wrong-receipt": Weakness("whose receipt it is", served_switches.ANY_RECEIPT),
    "split-organiser": FEW_CONFIRMED,
    "three-branches": Weakness("that plans grant a loss twice", served_switches.GRANTED_ONCE),
    "value-behind-the-close": Weakness(
        "whether a party is listed itself",
        switches.OWN_PRESENCE,
        "one rule: a party looks for itself in every list, of publish and of confirm",
    ),
    "fork-without-witness": Weakness("how many have cosigned", served_switches.NO_QUORUM),
    "restored-backup": Weakness(
        "what witnesses hold when a board comes back",
        served_switches.NOBODY_IS_AHEAD,
        "one rule: witnesses are asked before the first signature, and heard if they answer late",
    ),
    # strangers
    "manifest-squat": Weakness("that manifests give way", served_switches.FIRST_COME),
    "idle-crowd": Weakness("that idle connections give way", served_switches.SEATS_FOR_EVER),
    # values
    "out-of-range-input": ANY_NOISE,
    "negative-input": ANY_NOISE,
    "zero-noise": ANY_NOISE,
    "scale-noise": ANY_NOISE,
    "late-change-of-value": ANY_OPENED_VALUE,
    "spoiled-value": ANY_OPENED_VALUE,
    "spoiled-proof": ANY_NOISE,
    "copied-proof": ANY_NOISE,
    "copied-commitment": ANY_NOISE,
    "out-of-range-vector": ANY_NOISE,
    "value-above-weight": ANY_NOISE,
    "spoiled-weighing": ANY_NOISE,
}
