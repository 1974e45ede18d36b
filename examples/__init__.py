"""Programs to learn from; figures are made by `python -m examples.NAME FIGURE`.

Read `tutorial` (from a list of numbers to an audited session), `learning_tutorial` (from a table to
models), `commit_and_prove` and `prove_noise` (proofs alone), `averaging` (a learning algorithm),
then one for each family of algorithms: `federated`, `network_privacy`, `correlated`,
`without_replacement`, `pairwise`, `personalised`.
`flower-verified` is a whole app for Flower. Tests run all of them.
"""
