"""A party as a process: what it is told goes into its journal, and a crash loses nothing of it.

Read `journal` (events and posts as records), `memory` (what is kept between rounds), `stepped` (the
state machine that repeats itself to the last byte), `durable` (the same with a vault), `runner`
(what the log says goes in, what the party says is posted). `docs/deploy.md` runs three of them.
"""
