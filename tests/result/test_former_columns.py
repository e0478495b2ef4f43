"""Names that columns had before: every place that takes the name of a column refuses them, and says the new one."""

from pathlib import Path

import numpy as np
import pytest

import dgraph
from dgraph.comm import world
from dgraph.errors import UsageError
from dgraph.service.ranks.result_rows import spool


@pytest.mark.mpi
@pytest.mark.parametrize("algorithm", ["cc", "scc", "cdlp"])
def test_label_is_labels(algorithm, tmp_path):
    graph = dgraph.Graph.load("path:4")
    result = dgraph.run(algorithm, graph)
    kept = graph.with_columns(labels=result)
    path = Path(world().bcast_json(str(tmp_path / "out.csv")))
    places = [
        lambda: result.columns["label"],
        lambda: result.columns.pop("label"),
        lambda: result.top(1, "label"),
        lambda: result.value(1, "label"),
        lambda: result.save(path, "label"),
        lambda: result.device_column("label"),
        lambda: spool(result, path, ["vertex", "label"]),
        lambda: graph.with_columns(label=result),
        lambda: kept.filter_vertices("label"),
        lambda: kept.filter_vertices(lambda v: v.label == 0),
    ]
    for place in places:
        with pytest.raises(UsageError, match=r"unknown .*column.* 'label': it is called 'labels'$"):
            place()
    with pytest.raises(AttributeError, match=r"read columns\['labels'\]"):
        result.label  # noqa: B018
    comm, table = world(), result.gather()  # a graph and a result may give a vertex to different ranks
    vertices, labels = (np.concatenate(comm.allgatherv(part)) for part in (graph.vertices(), kept.columns["labels"]))
    if comm.rank == 0:
        assert dict(zip(vertices, labels, strict=True)) == dict(zip(table["vertex"], table["labels"], strict=True))


@pytest.mark.mpi_skip
def test_other_unknown_columns_are_key_errors():
    result = dgraph.bfs("path:4", 0)
    for name in ("label", "component"):
        with pytest.raises(KeyError, match="known are distance, predecessor, vertex"):
            result.columns[name]
        assert result.columns.get(name) is None
