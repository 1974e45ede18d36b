"""What all sides of a session agree on: terms, the manifest, every message, limits, public coins.

Read `terms` and `manifest` first, then `phases`, then the messages of `party` and `organiser`
(`rows` where long vectors are proved). Nothing here imports another room but `support`.
"""
