"""The offline auditor: what a transcript proves, what it does not, and who broke which rule.

Specification: `specs/11-audit.md`.
"""
