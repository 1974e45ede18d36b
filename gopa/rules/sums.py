"""The sum of a round: masked values less the masks that became public ([Z1], [Z2])."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from commitments.group import ScalarVec
from gopa.masks import (
    SelfMask,
    add_edge_words,
    add_self_words,
    edge_masks,
    self_mask,
    unpack_words,
    word_type,
)
from gopa.messages.framing import Message
from gopa.rules.book import Book, Step, Sums
from gopa.rules.findings import Fault
from gopa.rules.openings import public
from wire.secret import SecretBytes

Recovered: TypeAlias = SelfMask | SecretBytes
"""What shares of a self-mask give: the mask, or its seed."""


def summed(
    book: Book,
    seeds: Mapping[int, SecretBytes],
    recovered: Mapping[int, Recovered],
    faults: tuple[Fault, ...] = (),
) -> Step:
    """The result, once every self-mask of the final list is known."""
    outward = opened_outward(book)
    masks = {at: each for at, each in recovered.items() if isinstance(each, SelfMask)}
    dealt = {at: each for at, each in recovered.items() if isinstance(each, SecretBytes)}
    known = {**seeds, **dealt}
    if book.context.full:
        sums = _scalars(book, outward, known, masks)
    else:
        sums = _words(book, outward, known)

    def settle(_: Message) -> None:
        book.unmask(seeds)
        book.recovered = tuple(sorted(recovered))

    return Step(Sums(sums), (), settle, faults)


def opened_outward(book: Book) -> list[tuple[int, int]]:
    """Opened live edges from inside the final list to outside: (edge, sign of the end inside)."""
    edges = book.matched
    return [
        (edge, edges.sign_at(edge, inside))
        for edge, inside, _ in edges.crossing(book.final or ())
        if edge in book.openings
    ]


def _scalars(
    book: Book,
    outward: Iterable[tuple[int, int]],
    seeds: Mapping[int, SecretBytes],
    recovered: Mapping[int, SelfMask],
) -> tuple[int, ...]:
    group, dimension = book.group, book.context.dimension
    total = group.scalars([0] * dimension)
    for place in book.final or ():
        total = total + group.decode_scalars(book.values[place], dimension)
        mask = recovered.get(place)
        if mask is None:
            mask = self_mask(group, seeds[place], book.self_context(place), dimension)
        total = total - mask.values.reveal()
    opened = list(outward)
    keys = [book.openings[edge] for edge, _ in opened]
    masks = edge_masks(group, keys, book.mask_law, dimension)
    signed = masks.signed_sum([sign for _, sign in opened])[0]
    return _centred(public(total - signed.reveal()), group.order)


def _centred(values: ScalarVec, order: int) -> tuple[int, ...]:
    return tuple(value - order if value > order // 2 else value for value in values.ints())


def _words(
    book: Book, outward: Iterable[tuple[int, int]], seeds: Mapping[int, SecretBytes]
) -> tuple[int, ...]:
    width, dimension = book.manifest.word_width, book.context.dimension
    total: npt.NDArray[np.unsignedinteger] = np.zeros(dimension, dtype=word_type(width))
    for place in book.final or ():
        total += unpack_words(book.values[place], dimension, width)
        if place in seeds:
            seed, context = seeds[place], book.self_context(place)
            add_self_words(total, seed, context, -1, group=book.group)
    for edge, sign in outward:
        add_edge_words(total, book.openings[edge], -sign, book.mask_law, group=book.group)
    return _signed(total, width)


def _signed(words: npt.NDArray[np.unsignedinteger], width: int) -> tuple[int, ...]:
    """The low bits of each word, read with their sign."""
    spare = 64 - width
    shifted = words.astype(np.uint64) << np.uint64(spare)
    return tuple((shifted.view(np.int64) >> np.int64(spare)).tolist())
