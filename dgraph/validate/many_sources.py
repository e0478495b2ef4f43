"""Certificates of searches from many sources: some are made again on the graph as it was loaded.

Searches. Each column has the certificate of bfs or sssp (``tree.py``). Reachability is searched again along the arcs,
from all sources.

With ``min_only`` the one column of distances has the certificate of several sources. A source is its own nearest one,
and every other vertex has that of its predecessor: by induction along the predecessors, which are a path from a source
of the length of the distance, it is the source of that path.

Closeness. The definition is evaluated for up to ``CHECKED`` vertices, evenly spaced over the ids (all, if there are not
more), by weights for ``AGAIN``: a search against the edges finds their distances from the sources. Other values are
only tested to be in the range.

Betweenness. Theorem. Let δ_s(v) be the dependency of source s on v [Brandes 2001]. Then the sum of δ_s(v) over all v
other than s equals the sum of d(s, t) - 1 over the vertices t that s reaches. Proof: exchange the sums over v and over
shortest paths; a path of length d has d - 1 inner vertices. All δ are at least 0, so a sum over some sources is a lower
bound. Checked are the total, by breadth-first searches from all sources of the answer, and the lower bound from up to
``AGAIN`` of them; it is the value itself if these are all. An error at several vertices that keeps the total, and no
value below the bound, is not found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dgraph.errors import ValidationFailed
from dgraph.validate.certificate_register import Certificate, Columns, Parameters, certifies
from dgraph.validate.distributed_columns import DistributedColumns
from dgraph.validate.pagerank import pagerank
from dgraph.validate.path_dependencies import PathDependencies
from dgraph.validate.rule import Rule
from dgraph.validate.searched_arcs import AGAIN, NEAR, SearchedArcs, chosen_sources
from dgraph.validate.tree import bfs, prove_tree, sssp

CHECKED = 64
"""Vertices whose closeness is computed again: a bit for each."""


@certifies("closeness")
def closeness(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``closeness``; collective.

    Raises:
        ValidationFailed: a value is not a share, or not that of the distances.
    """
    claimed, comm, n = columns["closeness"], distributed.comm, int(distributed.starts[-1])
    share = Rule("closeness is a share", "vertex {v} has {x}")
    most = np.inf if parameters["weighted"] else 1
    share.test(~((claimed >= 0) & (claimed <= most)), {"v": distributed.gids}, {"x": claimed})
    distributed.judge(share)
    sources = chosen_sources(distributed, parameters)
    count = AGAIN if parameters["weighted"] else CHECKED
    again = np.unique(np.linspace(0, max(n - 1, 0), min(n, count)).astype(np.int64))
    mine = np.isin(distributed.gids, sources)
    arcs = SearchedArcs(distributed)
    if parameters["weighted"]:
        far, reached = arcs.by_weights(again, mine)
    else:
        far, reached = np.zeros(CHECKED, np.int64), np.zeros(CHECKED, np.int64)
        for depth, new in arcs.against(again):
            bits = np.unpackbits(new[mine].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little").sum(
                axis=0, dtype=np.int64
            )
            far += depth * bits
            reached += bits
        far, reached = comm.allreduce(far)[: len(again)], comm.allreduce(reached)[: len(again)]
    others = len(sources) - np.isin(again, sources)
    wanted = np.divide(reached, far, out=np.zeros(len(again)), where=far > 0)
    if parameters["wf_improved"]:
        wanted *= np.divide(reached, others, out=np.zeros(len(again)), where=others > 0)
    here = (again >= distributed.block.first) & (again < distributed.block.first + distributed.block.rows)
    values, wanted, gids = claimed[again[here] - distributed.block.first], wanted[here], again[here]
    equal = Rule("closeness is of the distances", "vertex {v} has {x}, and {y} was computed")
    equal.test(~(np.abs(values - wanted) <= NEAR * wanted), {"v": gids}, {"x": values, "y": wanted})
    distributed.judge(equal)
    return [f"closeness of {len(again)} of {n} vertices was computed again"]


@certifies("multi_source_bfs")
def multi_source_bfs(
    distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int
) -> list[str]:
    """Check the column of each source as levels of bfs; collective.

    Raises:
        ValidationFailed: a value is wrong, or the columns are not those of the sources.
    """
    if parameters.get("min_only"):
        return _nearest(distributed, columns, parameters, parameters["depth_limit"], False)
    return _each_column(bfs, distributed, columns, parameters, rounds)


@certifies("multi_source_sssp")
def multi_source_sssp(
    distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int
) -> list[str]:
    """Check the column of each source as distances of sssp; collective.

    Raises:
        ValidationFailed: a value is wrong, or the columns are not those of the sources.
    """
    if parameters.get("min_only"):
        weighted = distributed.block.weight_type is not None
        return _nearest(distributed, columns, parameters, parameters.get("cutoff"), weighted)
    return _each_column(sssp, distributed, columns, parameters, rounds)


def _nearest(
    distributed: DistributedColumns, columns: Mapping, parameters: Mapping, limit: float | None, weighted: bool
) -> list[str]:
    """Check the columns of a search from the nearest source; collective."""
    sources, label = chosen_sources(distributed, parameters), columns["source"]
    checked = prove_tree("distances from the nearest source", distributed, columns, sources, limit, weighted) or []
    gids, before = distributed.gids, distributed.to_gid(columns["predecessor"])
    child = (before >= 0) & (before < distributed.block.n)
    wanted = np.full(len(gids), -1)
    wanted[child] = distributed.fetch(before[child], label)[0]
    starts = np.isin(gids, sources)
    wanted[starts] = distributed.block.ids.to_original(gids, distributed.comm)[starts]
    rule = Rule("the nearest source is that of the predecessor", "vertex {v} has source {x}, and {y} is right")
    distributed.judge(rule.test(label != wanted, {"v": gids}, {"x": label, "y": wanted}))
    return [*checked, "every source leads to its vertices along the predecessors"]


def _each_column(
    check: Certificate, distributed: DistributedColumns, columns: Mapping, parameters: Mapping, rounds: int
) -> list[str]:
    """Check the column of each source by the certificate of a single search."""
    kinds = ("distance", "predecessor")[: 1 + bool(parameters.get("return_predecessors"))]
    named = _named(distributed, columns, parameters, len(kinds))
    checked: list[str] = []
    every = list(columns.values())
    for k, source in enumerate(named):
        of_source = dict(zip(kinds, every[k :: len(named)], strict=True))
        checked = check(distributed, of_source, {**parameters, "source": source}, rounds) or []
    return [f"{len(named)} sources: {proved}" for proved in checked]


@certifies("multi_source_pagerank")
def multi_source_pagerank(
    distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int
) -> list[str]:
    """Check the column of each source as ranks of pagerank with that personalisation; collective.

    Raises:
        ValidationFailed: a value is wrong, or the columns are not those of the sources.
    """
    walks, fixed = parameters["personalizations"], 0 if parameters["tol"] else parameters["max_iter"]
    if walks is None:
        walks = [[source] for source in _named(distributed, columns, parameters)]
    elif len(walks) != len(columns):
        raise ValidationFailed(f"the answer is wrong: it has {len(columns)} columns for {len(walks)} personalisations")
    checked: list[str] = []
    for jumps, column in zip(walks, columns.values(), strict=True):
        checked = pagerank(distributed, {"pagerank": column}, {**parameters, "personalization": jumps}, fixed) or []
    return [f"{len(walks)} sources: {proved}" for proved in checked]


@certifies("reachability")
def reachability(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check the column of each source against a search; collective.

    Raises:
        ValidationFailed: a value is wrong, or the columns are not those of the sources.
    """
    named, limit = _named(distributed, columns, parameters), parameters["depth_limit"]
    gids, claims = (distributed.block.ids.to_gid(np.array(named, np.int64), distributed.comm), list(columns.values()))
    arcs, rule = SearchedArcs(distributed), Rule("a path leads where the answer says", "vertex {v} has {x} from {s}")
    for first in range(0, len(gids), 64):
        seen = np.zeros(len(distributed.gids), np.uint64)
        for depth, new in arcs.along(gids[first : first + 64]):
            if limit is not None and depth > limit:
                break
            seen |= new
        for i, gid in enumerate(gids[first : first + 64].tolist()):
            column, source = claims[first + i], np.full(len(seen), gid)
            rule.test(
                column != (seen >> np.uint64(i) & np.uint64(1)), {"v": distributed.gids, "s": source}, {"x": column}
            )
    distributed.judge(rule)
    return [f"the vertices that {len(named)} sources reach were found again"]


def _named(
    distributed: DistributedColumns, columns: Mapping, parameters: Mapping, columns_of_one: int = 1
) -> list[int]:
    """Return the original ids of the sources, which have ``columns_of_one`` columns each; collective."""
    named = parameters["sources"]
    if named is None:
        gids = chosen_sources(distributed, parameters)
        named = np.sort(distributed.block.ids.to_original(gids, distributed.comm)).tolist()
    if columns_of_one * len(named) != len(columns):
        raise ValidationFailed(f"the answer is wrong: it has {len(columns)} columns for {len(named)} sources")
    return list(named)


@certifies("bc")
def bc(distributed: DistributedColumns, columns: Columns, parameters: Parameters, rounds: int) -> list[str]:
    """Check column ``bc``; collective.

    Raises:
        ValidationFailed: the total is wrong, or a value is below what some sources give.
    """
    claimed, gids = columns["bc"], distributed.gids
    sources, arcs = chosen_sources(distributed, parameters), SearchedArcs(distributed)
    n, directed, endpoints = int(distributed.starts[-1]), distributed.block.directed, parameters["endpoints"]
    named, goals = parameters.get("targets"), np.ones(len(gids))
    if named is not None:
        goals[~np.isin(gids, distributed.block.ids.to_gid(np.array(list(named), np.int64), distributed.comm))] = 0.0
    searches = len(sources) if named is None else n
    scale = np.where(np.isin(gids, sources), *_scales(n, searches, directed, parameters))
    scaled = ~np.isnan(scale)
    sums = np.where(scaled, claimed / np.where(scaled, scale, 1.0), 0.0)
    least = Rule("betweenness is at least 0", "vertex {v} has {x}")
    least.test((np.isnan(claimed) == scaled) | (sums < 0) | (sums == np.inf), {"v": gids}, {"x": claimed})
    distributed.judge(least)
    part, _, counted = PathDependencies(distributed, arcs, parameters["weighted"], goals).summed(sources, endpoints)
    within, values = NEAR * (1 + part), {"x": claimed, "y": part * scale}
    if counted == len(sources):
        equal = Rule("betweenness is of the dependencies", "vertex {v} has {x}, and {y} was computed")
        distributed.judge(equal.test(scaled & ~(np.abs(sums - part) <= within), {"v": gids}, values))
        return [f"dependencies of all {counted} sources were computed again"]
    bound = Rule("betweenness is at least the dependencies", "vertex {v} has {x}, and some sources alone give {y}")
    distributed.judge(bound.test(scaled & ~(sums >= part - within), {"v": gids}, values))
    if named is not None or parameters["weighted"]:
        return [f"dependencies of {counted} of {len(sources)} sources are a bound"]
    wanted = float(sum(arcs.inner(sources[i : i + 64], 2 * endpoints) for i in range(0, len(sources), 64)))
    total = distributed.sum(sums)
    off = np.array([abs(total - wanted) > NEAR * (1 + wanted) and distributed.comm.rank == 0])
    whole = Rule("the total is that of the distances", "dependencies sum to {x}, and distances to {y}")
    distributed.judge(whole.test(off, {}, {"x": np.array([total]), "y": np.array([wanted])}))
    return ["dependencies sum to the distances less one", f"those of {counted} of {len(sources)} sources are a bound"]


def _scales(n: int, k: int, directed: bool, parameters: Mapping[str, Any]) -> tuple[float, float]:
    """Return the factor of a source and of another vertex; NaN where no pair of vertices is left."""
    ends = n if parameters["endpoints"] else n - 1
    if ends < 2:
        return 1.0, 1.0
    own = not parameters["endpoints"] and k < n
    counts = (k - 1 if own else min(k, ends), k if k < n else ends)
    if parameters["normalized"]:
        source, other = (1 / (c * (ends - 1)) if c else np.nan for c in counts)
    else:
        source, other = (ends / (c * (1 if directed else 2)) if c else np.nan for c in counts)
    return source, other
