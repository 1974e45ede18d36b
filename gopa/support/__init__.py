"""What every room uses and no protocol is in: words, rounding, progress, draws, extras.

Read `wording` first: every word that people read about phases, aborts and verdicts stands there.

    >>> from gopa.support.rounding import known
    >>> known(0.61234, 0.016)
    ('0.61', '0.016')
"""
