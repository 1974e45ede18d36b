"""Who may post what to a board that holds sessions, and what it shows of them.

Read `policy` (may this entry in?), `tracker` (where each session stands, without checking proofs),
`places` and `memory` (what is kept, bounded), then `view` (the board's page).

    >>> from gopa.protocol.admission.policy import Limits
    >>> ours = Limits.of(organisers=[bytes(32)])
    >>> ours.objection(session=b"any", author=bytes(32))
    ''
    >>> ours.objection(session=b"any", author=b"somebody else") == ""
    False
"""
