"""Maximum flows and minimum cuts, by SciPy's Dinic in 32-bit integers.

A flow is one of several of the same value. The cut is NetworkX's: the nodes from which the sink can be reached past
arcs that are not full are the same for every maximum flow.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from dgraph.networkx_backend.answers import answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.nodes_given import NotANode, position
from dgraph.networkx_backend.scipy_calls import MOST, entries, matrix, scipy_call


def _other_method(args) -> str | None:
    return "flow_func= is a function" if callable(args.get("flow_func")) else None


@answers(declines=_other_method)
def maximum_flow(flowG: ConvertedGraph, _s, _t, capacity="capacity", flow_func=None) -> tuple:
    """Return the value of a maximum flow, and node → neighbour → flow."""
    network = _Network(flowG, _s, _t, capacity, flow_func)
    result = network.flow()
    places = flowG.sources * len(flowG) + flowG.targets
    rows, columns, net = entries(result.flow.maximum(0))
    keys = rows.astype(np.int64) * len(flowG) + columns
    order = np.argsort(keys)
    flows = np.zeros(places.size, np.int64)
    if keys.size:
        nearest = np.minimum(np.searchsorted(keys[order], places), keys.size - 1)
        flows = np.where(keys[order][nearest] == places, net[order][nearest], 0)
    numbers, names = list(map(network.number, flows.tolist())), flowG.names(flowG.targets)
    ends = flowG.offsets.tolist()
    neighbours = (dict(zip(names[a:b], numbers[a:b], strict=True)) for a, b in pairwise(ends))
    return network.number(result.flow_value), dict(zip(flowG.nodes, neighbours, strict=True))


@answers(declines=_other_method)
def maximum_flow_value(flowG: ConvertedGraph, _s, _t, capacity="capacity", flow_func=None):
    """Return the value of a maximum flow."""
    network = _Network(flowG, _s, _t, capacity, flow_func)
    return network.number(network.flow().flow_value)


@answers(declines=_other_method)
def minimum_cut_value(flowG: ConvertedGraph, _s, _t, capacity="capacity", flow_func=None):
    """Return the capacity of a minimum cut."""
    return maximum_flow_value(flowG, _s, _t, capacity, flow_func)


@answers(declines=_other_method)
def minimum_cut(flowG: ConvertedGraph, _s, _t, capacity="capacity", flow_func=None) -> tuple:
    """Return the capacity of a minimum cut, and the nodes on the source's and on the sink's side."""
    network = _Network(flowG, _s, _t, capacity, flow_func)
    result = network.flow()
    residual = (network.capacities - result.flow).maximum(0).T.tocsr()
    residual.eliminate_zeros()
    order = scipy_call("breadth_first_order", residual, network.sink, return_predecessors=False)
    sinks = set(flowG.names(order))
    return network.number(result.flow_value), (set(flowG.nodes) - sinks, sinks)


class _Network:
    """Capacities as SciPy takes them: of arcs between different nodes, above 0, none larger than any flow can fill.

    Raises:
        NotANode: what NetworkX's function refuses: nodes, multigraphs, or a path of infinite capacity.
        NotImplementedError: capacities that are not integers, or beyond SciPy's.
    """

    def __init__(self, graph: ConvertedGraph, source, sink, capacity: str, flow_func: Any):
        self.source, self.sink = position(graph, source), position(graph, sink)
        if self.source == self.sink or graph.is_multigraph() or flow_func is not None:
            raise NotANode
        values = graph.capacities(capacity)
        finite = np.isfinite(values)
        if np.isnan(values).any() or (values[finite] % 1).any():
            raise NotImplementedError(f"{capacity} of some edge is not an integer, which SciPy's flows need")
        self.number = float if values.dtype.kind == "f" and finite.all() else int
        kept = (values > 0) & (graph.sources != graph.targets)
        rows, columns, values = graph.sources[kept], graph.targets[kept], values[kept]
        shape = (len(graph), len(graph))
        endless = matrix(rows, columns, np.isinf(values).astype(np.int32), shape)
        endless.eliminate_zeros()
        if self.sink in scipy_call("breadth_first_order", endless, self.source, return_predecessors=False):
            raise NotANode
        sizes = values.astype(np.float64)
        with np.errstate(over="ignore"):
            most = min(sizes[rows == self.source].sum(), sizes[columns == self.sink].sum())
            if np.isinf(most):
                most = sizes[np.isfinite(sizes)].sum()
        if most >= MOST:
            raise NotImplementedError(f"the flow may be {most:g}, and SciPy's flows are below 2^30")
        self.capacities = matrix(rows, columns, np.minimum(values, most + 1).astype(np.int32), shape)

    def flow(self) -> Any:
        """Return SciPy's flow."""
        return scipy_call("maximum_flow", self.capacities, self.source, self.sink)
