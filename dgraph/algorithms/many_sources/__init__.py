"""Searches from many sources in one pass: whole rows on each rank, bits for reachability, lanes for path counts."""

from dgraph.algorithms.many_sources import bc, closeness, edge_bc, multi_source_bfs, multi_source_sssp, reachability

__all__ = ["bc", "closeness", "edge_bc", "multi_source_bfs", "multi_source_sssp", "reachability"]
