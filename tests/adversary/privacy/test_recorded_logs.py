"""What `docs/limitations.md` says of recorded logs: logarithms of keys take all masks off.

A reader with a quantum computer is played by one to whom sessions give the logarithms of the keys
on their rolls. It has nothing else but the log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final

import pytest

from bulletin_board import Submission
from commitments import Commitment, Pedersen
from commitments.group import SecretScalar
from gopa.contract.framing import party_id
from gopa.contract.party import COMMIT, JOIN, PUBLISH, UNMASK
from gopa.contract.phases import Phase
from gopa.protocol.party import committing
from gopa.protocol.party.reading import RoundView
from gopa.protocol.simulation import Script
from gopa.rounds.context import RoundContext
from gopa.rounds.masks import (
    EdgeMask,
    SelfMask,
    edge_key,
    edge_mask,
    open_share,
    recover,
    self_mask,
    share_point,
    shared_point,
    sign,
)
from gopa.rounds.masks.self_masks import decode_commitments
from tests.protocol.simulation.worlds import RECOVERING, inputs_for, simulate
from wire.secret import SecretBytes

Logarithms = dict[bytes, SecretScalar]
LARGEST_NOISE: Final = 31


@pytest.fixture
def logarithms(monkeypatch: pytest.MonkeyPatch) -> Logarithms:
    """The secret key behind each key of a roll, as parties come to use them."""
    found: Logarithms = {}
    derived = committing.edge_secrets

    def noted(view: RoundView, secret: SecretScalar) -> object:
        found[view.enrolment.roll.parties[view.position].key] = secret
        return derived(view, secret)

    monkeypatch.setattr(committing, "edge_secrets", noted)
    return found


class Reader:
    """The log of a complete graph's first round, with logarithms of the keys in it."""

    def __init__(
        self,
        context: RoundContext,
        entries: Sequence[bytes],
        logarithms: Mapping[bytes, SecretScalar],
    ) -> None:
        self._context = context
        bodies: defaultdict[int, defaultdict[bytes, bytes]] = defaultdict(
            lambda: defaultdict(bytes)
        )
        for raw in entries:
            entry = Submission.decode(raw).entry
            if entry.round == context.round:
                bodies[entry.phase][entry.author.data] += entry.body
        self.published = bodies[Phase.PUBLISH]
        self.unmasked = bodies[Phase.UNMASK]
        self._commits = {each: COMMIT.decode(body) for each, body in bodies[Phase.COMMIT].items()}
        self._keys = {each: JOIN.decode(body).key for each, body in bodies[Phase.JOIN].items()}
        self._shared = {}
        for one, other in combinations(sorted(self._keys), 2):
            theirs = context.group.decode_points(self._keys[other], 1)[0]
            point = shared_point(logarithms[self._keys[one]], theirs)
            self._shared[one, other] = self._shared[other, one] = point

    def value(self, author: bytes) -> int:
        """What somebody published without its masks: the value and its own noise."""
        context, me = self._context, party_id(author)
        total = context.group.decode_scalars(PUBLISH.decode(self.published[author]).value, 1)
        total = total - self._own(author).values.reveal()
        for other in self._others(author):
            mask = self._edge(author, other).values
            total = total - mask.reveal() * context.group.scalar(sign(me, party_id(other)))
        (found,) = total.ints()
        return found - context.group.order if found > context.group.order // 2 else found

    def _others(self, author: bytes) -> list[bytes]:
        return [each for each in self._keys if each != author]

    def _edge(self, one: bytes, other: bytes) -> EdgeMask:
        context = self._context
        names = context.edge_context(party_id(one), party_id(other))
        key = edge_key(self._shared[one, other], names)
        return edge_mask(context.group, key, context.mask_law, 1)

    def _own(self, author: bytes) -> SelfMask:
        """The mask behind a seed that was shown, or behind shares that were not."""
        context, group = self._context, self._context.group
        if author in self.unmasked:
            seed = SecretBytes(UNMASK.decode(self.unmasked[author]).seed)
            return self_mask(group, seed, context.self_context(party_id(author)), 1)
        commit, places = self._commits[author], sorted(self._keys)
        listed = [each for each in places if each != author]
        shares = {}
        for other, sealed in zip(listed, commit.shares, strict=True):
            point = self._shared[author, other]
            key = context.share_key(point, party_id(author), party_id(other))
            shares[share_point(places.index(other))] = open_share(group, sealed, key)
        own = Commitment(Pedersen(group), group.decode_points(commit.self_mask, 1))
        coefficients = b"".join(commit.coefficients)
        dealt = decode_commitments(own, coefficients, len(commit.coefficients) + 1)
        return recover(dealt, shares)


@pytest.mark.slow
def test_masks_come_off_with_logarithms_of_keys(logarithms: Logarithms) -> None:
    """Of those who are in the sum, and of one that was rolled back with a closed mask, too."""
    script = Script().drop(2, before=Phase.PUBLISH).drop(5, before=Phase.ROLLBACK)
    simulation = simulate(RECOVERING, script=script)
    inputs = inputs_for(RECOVERING)
    record = simulation.run_round(inputs)
    assert record.included == (0, 1, 3, 4, 6, 7)
    access = simulation.parties[0].access
    context = RoundContext(access.manifest, access.session, 1, access.toolkit.group)
    reader = Reader(context, list(simulation.log().entries()), logarithms)
    authors = [each.author for each in simulation.parties]
    assert authors[5] in reader.published
    assert authors[5] not in reader.unmasked
    assert authors[2] not in reader.published
    for each in (0, 1, 3, 4, 5, 6, 7):
        noise = reader.value(authors[each]) - inputs[each][0]
        assert noise == simulation.noise_for_tests[1, each][0]
        assert abs(noise) <= LARGEST_NOISE
