"""Seeds of self-masks against what their owners are held to ([U1], [U5])."""

from __future__ import annotations

from collections.abc import Sequence

from gopa.masks import SelfMask, seed_hash, self_mask
from gopa.rules.book import Book
from gopa.rules.openings import Claimed, wrong_openings
from wire.secret import SecretBytes


def wrong_seeds(book: Book, seeds: Sequence[tuple[int, SecretBytes]]) -> frozenset[int]:
    """Which of the seeds do not make the self-mask of the party at the position beside them."""
    if not book.context.full:
        return frozenset(
            number
            for number, (place, seed) in enumerate(seeds)
            if seed_hash(seed, book.self_context(place)) != book.committed.self_mask(place)
        )
    if not seeds:
        return frozenset()
    masks = [mask_of(book, place, seed) for place, seed in seeds]
    opened = b"".join(mask.blinding.reveal().to_bytes() for mask in masks)
    blindings = book.group.decode_scalars(opened, len(masks))
    encodings = b"".join(book.committed.self_mask(place) for place, _ in seeds)
    points = book.group.decode_points(encodings, len(seeds))
    rows = [mask.values.reveal() for mask in masks]
    return wrong_openings(Claimed(book.key, rows, blindings, points), book.tools.rng)


def mask_of(book: Book, place: int, seed: SecretBytes) -> SelfMask:
    """b_u and t_u of an opened seed."""
    return self_mask(book.group, seed, book.self_context(place), book.context.dimension)
