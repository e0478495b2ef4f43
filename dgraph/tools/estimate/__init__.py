"""Estimate of the memory that a run needs on each rank, without loading the graph."""

from dgraph.tools.estimate.against import against
from dgraph.tools.estimate.plan import RunPlan, estimate
from dgraph.tools.estimate.shape import Shape, kept_parts, shape_of

__all__ = ["RunPlan", "Shape", "against", "estimate", "kept_parts", "shape_of"]
