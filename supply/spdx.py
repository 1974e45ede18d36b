"""Licence expressions: brought to one spelling, and held against an allow-list."""

from __future__ import annotations

from collections.abc import Container

from packaging.licenses import canonicalize_license_expression


def canonical(text: str) -> str:
    """The one spelling of an expression; crates may still write `MIT/Apache-2.0` for a choice.

    Raises:
        ValueError: it is no SPDX expression.
    """
    return canonicalize_license_expression(text.replace("/", " OR "))


def allowed(expression: str, allow_list: Container[str]) -> bool:
    """Whether the terms can be met: of `OR` one side, of `AND` both, `X WITH Y` as it stands.

    Raises:
        ValueError: it is no SPDX expression.
    """
    tokens = canonical(expression).replace("(", " ( ").replace(")", " ) ").split()
    return _any(tokens, allow_list)


def _any(tokens: list[str], allow_list: Container[str]) -> bool:
    met = _all(tokens, allow_list)
    while tokens and tokens[0] == "OR":
        tokens.pop(0)
        met = _all(tokens, allow_list) or met
    return met


def _all(tokens: list[str], allow_list: Container[str]) -> bool:
    met = _one(tokens, allow_list)
    while tokens and tokens[0] == "AND":
        tokens.pop(0)
        met = _one(tokens, allow_list) and met
    return met


def _one(tokens: list[str], allow_list: Container[str]) -> bool:
    term = tokens.pop(0)
    if term == "(":
        met = _any(tokens, allow_list)
        tokens.pop(0)
        return met
    if tokens and tokens[0] == "WITH":
        term = f"{term} WITH {tokens[1]}"
        del tokens[:2]
    return term in allow_list
