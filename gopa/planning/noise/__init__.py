"""How much noise a plan needs: what releases give away, the laws to choose from, and their grids.

Read `exposure` (what several honest parties give away about one, for any law), `laws` (what plans
choose from, and the smallest law that meets a target), `grids` (how fine inputs are rounded), and
`rows` (bounds on the noise of long vectors, and what its proofs cost).

    >>> from gopa.planning.noise.exposure import Exposure, delta_of
    >>> from gopa.planning.noise.laws import NoiseTarget, choose_noise
    >>> exposure = Exposure(
    ...     honest=40, squared_sensitivity=64, largest_coordinate=8, dimension=1,
    ...     epsilon=1.0, delta=1e-6, mask_mu=0.0, releases=1,
    ... )
    >>> law = choose_noise(("gaussian",), NoiseTarget(exposure, 1e-6))
    >>> delta_of(exposure, law) <= 1e-6
    True

Specification: `specs/03-privacy.md`, sections 2, 4, 5 and 9, and `specs/14-long-vectors.md`.
"""
