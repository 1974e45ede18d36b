"""The protocol as pure state machines, without clock, network or hidden randomness.

`party` is one party, `organiser` opens and closes phases, `rules` say what the organiser had to say
and who broke which rule, `admission` is what a board lets in, and `simulation` runs all of them.
Read `rules/table.py` first, then `party/machine.py`.

    >>> from gopa.protocol.rules import RULES
    >>> RULES["04-K3"]
    'the committed output is an input in range plus its noise'

Specification: `specs/04-protocol.md`.
"""
