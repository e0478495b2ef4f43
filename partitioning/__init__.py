"""Partitioning: a policy assigns each vertex an owner and each arc a holder, given a distributed graph.

The package depends on arrays and a communicator, not on dgraph. :func:`plan` is the entry.
``docs/internals/partitioning.md`` describes the policies, ``docs/guide/write-a-policy.md`` how to add one.
"""

from partitioning import policies as _policies  # noqa: F401 - its modules register
from partitioning.placement import Placement, PolicyError
from partitioning.policy_register import POLICIES, Chosen, Option, Policy, choose, plan, policy
from partitioning.quality import quality

__all__ = [
    "POLICIES", "Chosen", "Option", "Placement", "Policy", "PolicyError", "choose", "plan", "policy", "quality",
]  # fmt: skip
