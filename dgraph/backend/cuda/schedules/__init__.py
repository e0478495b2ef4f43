"""Schedules: mappings of a round's edges to threads. One CUDA C++ template and one row of metadata each."""

from dgraph.backend.cuda.schedules.register import SCHEDULES, Schedule, Sizes

__all__ = ["SCHEDULES", "Schedule", "Sizes"]
