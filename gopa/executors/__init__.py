"""Executors that the checks of the library run on, beyond those of Python itself.

Whatever takes an `executor` (`gopa.audit`, `LocalAggregator`, `gopa.protocol.rules.check_log`)
takes any `concurrent.futures.Executor`, and submits plain functions of public data to it.
`ray_executor` needs the extra `ray`; `cluster` and `tasks` keep what it sends small.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import gopa
    >>> votes = gopa.average([0, 1] * 5, epsilon=2, delta=1e-5, corrupt=1, seed=1).transcript
    >>> with ThreadPoolExecutor(2) as threads:
    ...     report = gopa.audit(votes.archive("votes.gopa"), executor=threads)
    >>> report.faults
    ()
"""

from gopa.executors.ray_executor import RayExecutor

__all__ = ["RayExecutor"]
