"""The protocol as pure state machines, without clock, network or hidden randomness.

`party` is one party, `organiser` opens and closes phases, `rules` say what the organiser had to say
and who broke which rule, `admission` is what a board lets in, and `simulation` runs all of them.
"""
