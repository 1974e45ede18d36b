"""All rules of the protocol, by the names under which findings cite them.

`specs/04-protocol.md` has the rules themselves, `specs/14-long-vectors.md` those about vectors that
are proved row by row.
"""

from __future__ import annotations

from typing import Final

RULES: Final[dict[str, str]] = {
    "04-S1": "the manifest comes first and hashes to the id of the session",
    "04-S2": "the manifest is well-formed and its terms agree with each other and the mode",
    "04-S3": "the terms are worth what they claim",
    "04-S4": "no message is larger than the manifest allows",
    "04-S5": "without noise a logical round releases one sum",
    "04-E1": "the chunks of a message continue each other",
    "04-E2": "one message for each party in each phase, of the phase's kind",
    "04-E3": "one entry in each slot: two convict their author",
    "04-E4": "a message acts on the organiser's message that opened its phase",
    "04-E5": "the bytes of a slot are stored before they are sent",
    "04-E6": "what an author has seen of the log is the log",
    "04-C1": "the organiser's messages come in their order",
    "04-C2": "no late message is counted, and none that the organiser has seen is left out",
    "04-C3": "a close lists what the rules make of the log below its cut",
    "04-C4": "a close carries a witnessed checkpoint that covers the close before",
    "04-C5": "a party stops when its own checks fail",
    "04-C6": "what stands between a cut and its message counts for nothing, against nobody",
    "04-C7": "a close carries the root of the log at its cut",
    "04-L1": "losses count neighbours outside the list, and withheld nonces",
    "04-L2": "who lost too many neighbours is peeled off a list",
    "04-L3": "too short a list, or too many withheld nonces, abort the round",
    "04-J1": "the author may join",
    "04-J2": "the fields of a join have their sizes and its points are valid",
    "04-J3": "the author of a join knows the secret of its key",
    "04-J4": "nobody shares a key",
    "04-J5": "a retry keeps its input; the seed of noise is used once",
    "04-J6": "the roll lists who joined, in order",
    "04-J7": "the close of join names the beacon's round",
    "04-V1": "a nonce fits its hash on the roll",
    "04-V2": "the graph follows from the coins",
    "04-V3": "the joint coin follows from all revealed nonces",
    "04-V4": "the beacon's value is proved, and the roll was witnessed before it was known",
    "04-V5": "test coins follow from the close of join",
    "04-V6": "the public half of a draw follows from the joint coin",
    "04-V7": "a party commits among parties only that have signed for it",
    "04-K1": "a commit has one edge for each neighbour, and the shares of its threshold",
    "04-K2": "the points of a commit are valid",
    "04-K3": "the committed output is an input in range plus its noise",
    "04-K4": "the close of commit lists who committed",
    "04-K5": "an edge is live where both ends posted the same",
    "04-K6": "no coordinate is above what its weight allows",
    "04-A1": "an accusation is about a void edge or a share of a listed neighbour",
    "04-A2": "the accuser shows the key that both share",
    "04-A3": "who posted other bytes than the shared key gives is convicted",
    "04-A4": "a dealer of a share that does not fit is convicted",
    "04-A5": "a false accuser is convicted",
    "04-P1": "the published value opens the product of its commitments",
    "04-P2": "the close of publish lists who published",
    "04-P3": "the close of publish is final if no edge leads out of its list",
    "04-O1": "an opening has exactly the edges that are owed",
    "04-O2": "an opened key makes the edge's commitment",
    "04-O3": "the close of rollback lists who owes nothing; the unchanged list is final",
    "04-O4": "rollbacks are bounded",
    "04-O5": "no edge inside the final list is opened",
    "04-F1": "a confirmation names the final close",
    "04-F2": "enough parties confirm, and enough neighbours of each",
    "04-F3": "who confirmed opens no edge",
    "04-U1": "an opened seed fits the self-mask",
    "04-U2": "the close of unmask lists whose seed is right",
    "04-U3": "released shares are owed and fit the dealer's coefficients",
    "04-U4": "enough right shares recover a self-mask",
    "04-U5": "a dealt seed makes the dealer's self-mask",
    "04-Z1": "the sums follow from the log",
    "04-Z2": "the sums cannot wrap",
    "04-Z3": "the result names everybody who is not in it, and why",
    "04-X1": "an abort has the reason and the culprits that the rules demand",
    "04-X2": "an abort says whether masked values were released",
    "04-X3": "rounds follow each other: the next attempt, or the next logical round",
    "04-X4": "attempts and releases of a logical round are bounded",
    "04-X5": "who failed after commit sits out the retry; the convicted sit out for good",
    "04-X6": "keys of a round are erased",
    "04-X7": "an abort that the log before it does not bear out is the organiser's veto",
    "14-L3": "rows are commitments that hide something",
    "14-M1": "there are as many rows as vectors have",
    "14-P3": "input and noise are as short as the manifest says",
    "14-P6": "masked words are the input, the noise and the masks",
    "14-P8": "the close of prove lists whose words are proved",
    "14-P10": "what was proved of a self-mask follows from its seed",
    "14-K6": "who said something false about a mask is convicted",
}
"""One line for each rule."""

UNSEEN: Final = frozenset({"04-E5", "04-C5", "04-V7", "04-X6"})
"""Duties of a party towards itself: no log shows whether they were kept."""

DEFINITIONS: Final = frozenset({"04-K5", "04-L1", "04-V2", "04-V3", "04-V5", "04-V6", "04-Z2"})
"""What other rules compute with: who breaks one of these breaks the rule that uses it."""
