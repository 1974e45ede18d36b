"""Plugs verified sums into other frameworks for federated learning, one module for each.

A framework is imported by its own module alone: nothing else here needs it.
"""
