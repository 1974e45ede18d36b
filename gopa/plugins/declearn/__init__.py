"""Verified sums inside declearn: `secagg_type = "gopa"`, for clients, servers and TOML files.

Importing this module registers the type. declearn has clients send masked numbers in one message;
a verified sum takes a talk. So a client's message says only where each number stands, the numbers
themselves stay with it, and the server then holds a session of one round over them, whose
messages travel as declearn's own. `docs/declearn.md` shows how to use it.
"""

from gopa.plugins.declearn.client import GopaEncrypter, GopaSecaggConfigClient
from gopa.plugins.declearn.messages import (
    GopaAggregate,
    GopaQuery,
    GopaReply,
    GopaSecaggSetupQuery,
    GopaSecaggSetupReply,
)
from gopa.plugins.declearn.server import GopaDecrypter, GopaSecaggConfigServer

__all__ = [
    "GopaAggregate",
    "GopaDecrypter",
    "GopaEncrypter",
    "GopaQuery",
    "GopaReply",
    "GopaSecaggConfigClient",
    "GopaSecaggConfigServer",
    "GopaSecaggSetupQuery",
    "GopaSecaggSetupReply",
]
