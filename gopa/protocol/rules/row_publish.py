"""Judges the close of publish where vectors are proved row by row: who sent words ([P5] of 14).

Whether the words are those that the author owes is for the phase behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gopa.contract.framing import Message
from gopa.contract.rows import ROW_PUBLISH
from gopa.contract.words import check_words
from gopa.protocol.rules.publish import Masked, PublishRules
from gopa.protocol.rules.row_messages import PublishedRows, require_rows
from gopa.rounds.rows.challenges import shape_of


@dataclass(slots=True)
class RowPublishRules(PublishRules):
    """Judges from the close of commit to that of publish; accusations are heard in it."""

    may_be_final: ClassVar[bool] = False

    def _read(self, message: Message) -> Masked:
        """Raises `MalformedMessage` for anything that is no masked words of this session."""
        publish, context = ROW_PUBLISH.decode(message.body), self.state.context
        check_words(publish.value, context.dimension, context.manifest.word_width)
        shape = shape_of(context)
        require_rows(context, publish.carries, shape.rows)
        require_rows(context, publish.pads, shape.pad_rows)
        return Masked(publish.value, None, None, PublishedRows(publish.carries, publish.pads))
