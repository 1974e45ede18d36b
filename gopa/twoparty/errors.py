"""What can go wrong between two parties beyond bytes that do not decode."""

from __future__ import annotations

from wire.errors import ProtocolError


class OutOfTurn(ProtocolError):
    """A message of two parties that is not the next one of their conversation.

    It was reordered or replayed, or belongs to another circuit, context or run. `field` says
    what does not fit.
    """

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message, field)
        self.message = message
        self.field = field

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class WrongLabel(ProtocolError):
    """An output label of a garbled circuit that stands for neither value of its bit."""

    def __init__(self, message: str, output: int) -> None:
        super().__init__(message, output)
        self.message = message
        self.output = output

    def __str__(self) -> str:
        return f"output {self.output}: {self.message}"
