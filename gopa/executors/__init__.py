"""Offers executors that the checks of the library run on, beyond those of Python itself.

Whatever takes an `executor` (`gopa.audit`, `LocalAggregator`, `gopa.protocol.rules.check_log`)
takes any `concurrent.futures.Executor`, and submits plain functions of public data to it.
"""

from gopa.executors.ray_executor import RayExecutor

__all__ = ["RayExecutor"]
