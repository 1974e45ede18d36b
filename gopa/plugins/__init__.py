"""Plugs verified sums into other frameworks for federated learning.

`flower` and `declearn` are what users import; a framework is imported by its own
module alone. They share `session` (the server's half), `roster` and `fixed_point` (of parties).
"""
