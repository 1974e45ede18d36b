"""What all sides of a session agree on: terms, the manifest, every message, limits, public coins.

Read `terms` and `manifest` first, then `phases`, then the messages of `party` and `organiser`
(`rows` where long vectors are proved). Nothing here imports another room but `support`.

    >>> from gopa.contract.phases import KIND_IN, ORDER, Phase
    >>> [phase.name.lower() for phase in ORDER[:3]]
    ['join', 'coins', 'commit']
    >>> KIND_IN[Phase.COINS].name
    'REVEAL'

Specification: `specs/04-protocol.md`, sections 1 and 2.
"""
