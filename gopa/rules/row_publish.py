"""Judges the close of publish where vectors are proved row by row: who sent words ([P5] of 14).

Whether the words are those that the author owes is for the phase behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gopa.masks import check_words
from gopa.messages.framing import Message
from gopa.messages.long_vectors import LONG_PUBLISH
from gopa.rounds.long.challenges import shape_of
from gopa.rules.prove import ProveRules
from gopa.rules.publish import Masked, PublishRules
from gopa.rules.round_state import PhaseRules
from gopa.rules.row_messages import PublishedRows, require_rows


@dataclass(slots=True)
class RowPublishRules(PublishRules):
    """Judges from the close of commit to that of publish; accusations are heard in it."""

    may_be_final: ClassVar[bool] = False

    def _read(self, message: Message) -> Masked:
        """Raises `MalformedMessage` for anything that is no masked words of this session."""
        publish, context = LONG_PUBLISH.decode(message.body), self.state.context
        check_words(publish.value, context.dimension, context.manifest.word_width)
        shape = shape_of(context)
        require_rows(context, publish.carries, shape.rows)
        require_rows(context, publish.pads, shape.pad_rows)
        return Masked(publish.value, None, None, PublishedRows(publish.carries, publish.pads))

    def _following(self, message: Message, members: tuple[int, ...], *, final: bool) -> PhaseRules:
        del final
        return ProveRules(self.state, message, members)
