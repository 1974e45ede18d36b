"""The published vectors of masks: the same on every backend, and used the way a reader would."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from commitments import Commitment, Pedersen
from commitments.group import Group
from gopa.contract.words import unpack_words
from gopa.rounds.masks import (
    Share,
    check_share,
    decode_commitments,
    decode_seed_commitments,
    decode_share,
    open_share,
    recover,
    recover_seed,
    seed_hash,
    self_mask,
)
from gopa.rounds.masks import self_masks as shares
from tests.rounds.masks.masks_vectors import records
from tests.rounds.masks.samples import OWN
from wire import domains
from wire.errors import MalformedMessage
from wire.secret import SecretBytes

FILE: Any = json.loads(
    (Path(__file__).resolve().parents[3] / "specs" / "vectors" / "masks.json").read_text()
)


def test_every_backend_makes_the_published_values(group: Group) -> None:
    assert records(group) == FILE


def test_packed_words_unpack() -> None:
    for entry in FILE["packing"]:
        words = unpack_words(bytes.fromhex(entry["packed"]), len(entry["words"]), entry["width"])
        assert [str(word) for word in words.tolist()] == entry["words"]


@pytest.mark.parametrize("entry", FILE["refused_packing"], ids=lambda entry: entry["name"])
def test_refused_packing(entry: Any) -> None:
    with pytest.raises(MalformedMessage):
        unpack_words(bytes.fromhex(entry["packed"]), entry["count"], entry["width"])


def test_shares_open_fit_and_recover(group: Group) -> None:
    entry = FILE["shares"]
    own = Pedersen(group).decode(bytes.fromhex(entry["mask_commitment"]), 1)
    data = bytes.fromhex(entry["commitments"])
    commitments = decode_commitments(own, data, entry["threshold"])
    mask = recover(commitments, opened(group, entry, commitments))
    assert mask.values.reveal().to_bytes().hex() == FILE["self_masks"][0]["values"][0]


def test_shares_of_a_seed_recover_what_makes_its_mask_and_its_hash(group: Group) -> None:
    entry = FILE["shares_of_a_seed"]
    data = bytes.fromhex(entry["commitments"])
    commitments = decode_seed_commitments(group, data, entry["threshold"])
    seed = recover_seed(commitments, opened(group, entry, commitments))
    assert seed.reveal().hex() == entry["seed"]
    assert seed_hash(seed, OWN).hex() == entry["hash"]
    mask = self_mask(group, seed, OWN, 3)
    assert mask.commitment().to_bytes().hex() == entry["mask_commitment"]


def opened(group: Group, entry: Any, commitments: Commitment) -> dict[int, Share]:
    """The shares of a record, taken out of their seals and checked."""
    shares = {}
    for item in entry["shares"]:
        key = SecretBytes(bytes.fromhex(item["share_key"]))
        share = open_share(group, bytes.fromhex(item["sealed"]), key)
        again = decode_share(group, bytes.fromhex(item["share"]))
        assert share.to_bytes().reveal() == again.to_bytes().reveal()
        check_share(commitments, item["at"], share)
        shares[item["at"]] = share
    return shares


ROOT: Final = Path(__file__).resolve().parents[3]
SPEC: Final = (ROOT / "specs" / "08-masks.md").read_text()

LABELS: Final = [
    value.decode()
    for value in vars(domains).values()
    if isinstance(value, bytes) and value.startswith(b"gopa/v1/masks/")
]


def rules() -> list[int]:
    return [int(number) for number in re.findall(r"\*\*\[M(\d+)\]\*\*", SPEC)]


def test_rules_are_numbered_without_gaps() -> None:
    assert rules() == list(range(1, 29))


@pytest.mark.parametrize("label", LABELS)
def test_every_label_is_in_the_text(label: str) -> None:
    assert f"`{label}`" in SPEC


def test_the_text_has_no_other_label() -> None:
    assert sorted(set(re.findall(r"`(gopa/v1/masks/[a-z-]+)`", SPEC))) == sorted(LABELS)


def test_checks_cite_rules_that_exist() -> None:
    for check in (shares.SHARE_CHECK, shares.RECOVERY_CHECK):
        page, rule = check.split("-M")
        assert page == "08"
        assert int(rule) in rules()
