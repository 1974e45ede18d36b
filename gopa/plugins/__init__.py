"""Verified sums inside other frameworks for federated learning.

`flower` and `declearn` are what users import; a framework is imported by its own module alone.
They share `session` (the server's half), `roster` and `fixed_point` (of parties): read them in this
order. CONTRIBUTING has a checklist for another framework.

    >>> from gopa.support.extras import EXTRAS
    >>> EXTRAS["flower"].package
    'flwr'

`docs/flower.md`, `docs/declearn.md`; whole programs: `examples/flower-verified` and
`tests/plugins`.
"""
