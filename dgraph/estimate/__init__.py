"""What a run will need of each rank's memory, before anything is loaded."""

from dgraph.estimate.against import against
from dgraph.estimate.plan import Plan, estimate
from dgraph.estimate.shape import Shape, shape_of

__all__ = ["Plan", "Shape", "against", "estimate", "shape_of"]
