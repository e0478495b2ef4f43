"""Sequences of calls on resident graphs: changes, forms, stores and runs in any order, against NetworkX."""

from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

import dgraph

pytestmark = pytest.mark.interpreted

IDS = st.integers(0, 9).map(lambda vertex: 10**9 * vertex + 3)
EDGES = st.lists(st.tuples(IDS, IDS, st.integers(1, 5)), min_size=1, max_size=12)
POLICIES = st.sampled_from(["auto", "oec", "cvc", "hash"])


ORACLES = {
    "bfs": ("distance", lambda G, source: nx.single_source_shortest_path_length(G, source)),
    "sssp": ("distance", lambda G, source: nx.single_source_dijkstra_path_length(G, source)),
    "cc": ("labels", lambda G, _: {v: min(c) for c in nx.connected_components(nx.Graph(G)) for v in c}),
    "scc": ("labels", lambda G, _: {v: min(c) for c in nx.strongly_connected_components(nx.DiGraph(G)) for v in c}),
    "pagerank": ("pagerank", lambda G, _: nx.pagerank(G, tol=1e-12, max_iter=999)),
    "kcore": ("core_number", lambda G, _: nx.core_number(nx.Graph(G))),
    "degrees": ("degree", lambda G, _: dict(G.degree)),
}
PARAMETERS: dict[str, dict] = {"pagerank": {"tol": 1e-12, "max_iter": 999}}


@dataclass(frozen=True)
class Resident:
    """A graph, the same in NetworkX, and the last answer of each search that a later one may start from."""

    graph: Any
    model: Any
    answers: dict = field(default_factory=dict)


def listed(model):
    """Return the edges with their weights."""
    return model.edges(data="weight")


def added(model, edges):
    """Return a copy with edges, of which parallel ones keep the smallest weight."""
    model = model.copy()
    for u, v, w in edges:
        model.add_nodes_from((u, v))
        if u != v:
            model.add_edge(u, v, weight=min(w, model.get_edge_data(u, v, {"weight": w})["weight"]))
    return model


class Sequences(RuleBasedStateMachine):
    """Every rule gives a new resident graph, or compares an answer; the older graphs stay."""

    residents = Bundle("residents")

    def __init__(self):
        super().__init__()
        self.folder, self.stores = TemporaryDirectory(), 0

    def teardown(self):
        self.folder.cleanup()

    @initialize(target=residents, edges=EDGES, directed=st.booleans(), policy=POLICIES)
    def load(self, edges, directed, policy):
        graph = dgraph.Graph.from_edges(*np.array(edges).T, directed=directed, sparse_ids=True, policy=policy)
        return self.checked(Resident(graph, added(nx.DiGraph() if directed else nx.Graph(), edges)))

    @rule(target=residents, resident=residents, edges=EDGES, removed=st.integers(0, 2))
    def change(self, resident, edges, removed):
        gone = list(resident.model.edges)[:removed]
        kept = resident.model.copy()
        kept.remove_edges_from(gone)
        sources, targets, weights = np.array(edges).T
        graph = resident.graph.with_edges(np.stack([sources, targets], 1), gone or None, weights=weights)
        return self.checked(replace(resident, graph=graph, model=added(kept, edges)))

    @rule(target=residents, resident=residents)
    def undirected(self, resident):
        alone = nx.create_empty_copy(resident.model).to_undirected()
        both = added(alone, listed(resident.model))
        return self.checked(Resident(resident.graph.undirected(), both))

    @rule(target=residents, resident=residents, least=st.integers(2, 4))
    def filter_edges(self, resident, least):
        light = [(u, v) for u, v, w in listed(resident.model) if w < least]
        heavy = resident.model.copy()
        heavy.remove_edges_from(light)
        return self.checked(Resident(resident.graph.filter_edges(lambda e: e.weight >= least), heavy))

    @rule(target=residents, resident=residents, policy=POLICIES, parts=st.integers(1, 3))
    def store(self, resident, policy, parts):
        self.stores += 1  # an open graph reads its store when it needs it
        path = f"{self.folder.name}/{self.stores}"
        resident.graph.save_store(path, policy=policy, parts=parts)
        return self.checked(Resident(dgraph.Graph.load(path), resident.model))

    @rule(target=residents, resident=residents, policy=POLICIES)
    def place(self, resident, policy):
        return replace(resident, graph=resident.graph.on(policy=policy))

    @rule(resident=residents, name=st.sampled_from(sorted(ORACLES)), again=st.booleans())
    def search(self, resident, name, again):
        column, oracle = ORACLES[name]
        source = min(resident.model)
        parameters = PARAMETERS.get(name, {}) | ({"source": source} if name in ("bfs", "sssp") else {})
        start = resident.answers.get((name, source)) if again else None
        result = dgraph.run(name, resident.graph, previous=start, **parameters)
        if name in ("bfs", "sssp", "cc", "pagerank"):
            resident.answers[name, source] = result
        rows = result.to_pandas().dropna(subset=[column]).set_index("vertex")[column].to_dict()
        wanted = oracle(resident.model, source)
        assert rows.keys() == wanted.keys()
        np.testing.assert_allclose([rows[v] for v in wanted], list(wanted.values()), rtol=1e-8)

    def checked(self, resident):
        """Compare the vertices and edges with the model; return the resident graph."""
        graph, model = resident.graph, resident.model
        assert graph.vertices().tolist() == sorted(model)
        have = graph.to_pandas().itertuples(index=False)
        ends = (lambda u, v: (u, v)) if model.is_directed() else (lambda u, v: (min(u, v), max(u, v)))
        assert sorted((*ends(u, v), w) for u, v, w in have) == sorted((*ends(u, v), w) for u, v, w in listed(model))
        return resident


@pytest.mark.parametrize("examples", [6, pytest.param(150, marks=pytest.mark.exhaustive)])
def test_sequences_of_calls_give_the_answers_of_networkx(examples):
    limits = settings(max_examples=examples, stateful_step_count=12, deadline=None, derandomize=examples < 10)
    run_state_machine_as_test(Sequences, settings=limits)
