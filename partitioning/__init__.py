"""Partitioning: a policy looks at a distributed graph and says who owns each vertex and who holds each arc.

Knows arrays and a communicator, and nothing of dgraph. ``docs/partitioning.md`` describes the policies and how to add
one.
"""

from partitioning import automatic, blocks, grid, hashed, metis  # noqa: F401 - each registers its policies
from partitioning.placement import Placement, PolicyError
from partitioning.quality import quality
from partitioning.register import POLICIES, Policy, plan, policy

__all__ = ["POLICIES", "Placement", "Policy", "PolicyError", "plan", "policy", "quality"]
