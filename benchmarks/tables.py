"""DataFrame to components to DataFrame, and NetworkX graph to CSR: dgraph against NetworKit, igraph and SciPy.

Every reader is a process of its own that makes the table before the clock starts and is warmed up on a small one. The
time is from the DataFrame of edges to the DataFrame of labels; the memory is the peak beyond that table.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks import record

LIBRARIES = ("pandas", "pyarrow", "scipy", "networkit", "igraph", "networkx")
ROWS = 10_000_000
NX_EDGES = 1_000_000

FACTORIZED = """
import numpy as np, pandas as pd
def factorized(df):
    codes, names = pd.factorize(pd.concat([df.source, df.target], ignore_index=True))
    return codes[: len(df)], codes[len(df) :], names
"""

READERS = {
    "dgraph": """
import dgraph
def components(df):
    graph = dgraph.Graph.from_pandas(df, "source", "target")
    frame = dgraph.cc(graph).to_pandas()
    return frame.labels.nunique()
""",
    "networkit": FACTORIZED
    + """
import networkit as nk
def components(df):
    u, v, names = factorized(df)
    graph = nk.graph.GraphFromCoo((np.ones(len(df)), (u, v)), n=len(names))
    found = nk.components.ConnectedComponents(graph)
    found.run()
    labels = np.empty(len(names), np.int64)
    for number, members in enumerate(found.getComponents()):
        labels[members] = number
    return pd.DataFrame({"vertex": names, "labels": labels}).labels.nunique()
""",
    "igraph": FACTORIZED
    + """
import igraph
def components(df):
    u, v, names = factorized(df)
    graph = igraph.Graph(n=len(names), edges=np.column_stack([u, v]))
    found = graph.connected_components().membership
    return pd.DataFrame({"vertex": names, "labels": found}).labels.nunique()
""",
    "pandas + scipy": FACTORIZED
    + """
import scipy.sparse as sp
def components(df):
    u, v, names = factorized(df)
    matrix = sp.coo_array((np.ones(len(df), bool), (u, v)), (len(names), len(names)))
    _, labels = sp.csgraph.connected_components(matrix, directed=False)
    return pd.DataFrame({"vertex": names, "labels": labels}).labels.nunique()
""",
}
"""Reader → Python that defines ``components(df)``, the number of components."""

TIMED = """
import json, resource, sys, time
import numpy as np, pandas as pd
{reader}
def table(rows):
    rng = np.random.default_rng(1)
    ends = rng.integers(0, max(rows // 4, 2), (2, rows))
    words = np.char.add("user-", np.arange(max(rows // 4, 2)).astype("U9"))
    text = pd.Series(words, dtype="str")
    return pd.DataFrame({{"source": text.take(ends[0]).array, "target": text.take(ends[1]).array}})
def held():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
components(table(1000))
df = table({rows})
before, began = held(), time.perf_counter()
found = components(df)
seconds = time.perf_counter() - began
print(json.dumps({{"seconds": seconds, "components": int(found), "memory": held() - before}}))
"""

CONVERSIONS = {
    "dgraph": """
import dgraph
def convert(G): return dgraph.Graph.from_networkx(G).m
""",
    "arrays, as nx-cugraph makes them": """
import itertools
import numpy as np
def convert(G):
    index = dict(zip(G, range(len(G))))
    adjacency = G._adj
    get = index.__getitem__
    columns = np.fromiter(map(get, itertools.chain.from_iterable(adjacency.values())), np.int32)
    degrees = np.fromiter(map(len, adjacency.values()), np.int64)
    rows = np.repeat(np.arange(len(G), dtype=np.int32), degrees)
    weights = np.fromiter(
        (data.get("weight", 1) for row in adjacency.values() for data in row.values()), np.float64, columns.size
    )
    return rows.size
""",
    "scipy": """
import networkx as nx
def convert(G): return nx.to_scipy_sparse_array(G, format="csr").nnz
""",
}
"""Reader → Python that defines ``convert(G)``."""

CONVERTED = """
import json, time
import networkx as nx, numpy as np
{reader}
def made(edges):
    rng = np.random.default_rng(1)
    u, v = rng.integers(0, edges // 10, (2, edges)).tolist()
    G = nx.DiGraph()
    G.add_weighted_edges_from(zip(u, v, rng.integers(1, 100, edges).tolist()))
    return G
convert(made(1000))
G = made({edges})
began = time.perf_counter()
count = convert(G)
print(json.dumps({{"seconds": time.perf_counter() - began, "edges": G.number_of_edges(), "count": int(count)}}))
"""


def measure(repeat: int, folder: Path) -> None:
    """Run every reader ``repeat`` times in turn, and write ``tables.json`` and ``tables.md``."""
    document: dict = {"circumstances": record.circumstances(LIBRARIES), "repeat": repeat}
    components: dict[str, list] = {name: [] for name in READERS}
    conversions: dict[str, list] = {name: [] for name in CONVERSIONS}
    for _ in range(repeat):
        for name, reader in READERS.items():
            components[name].append(_ran(TIMED.format(reader=reader, rows=ROWS)))
            print(name, components[name][-1], flush=True)
        for name, reader in CONVERSIONS.items():
            conversions[name].append(_ran(CONVERTED.format(reader=reader, edges=NX_EDGES)))
            print(name, conversions[name][-1], flush=True)
    document |= {"rows": ROWS, "components": components, "conversions": conversions}
    counts = {run["components"] for runs in components.values() for run in runs}
    if len(counts) != 1:
        raise SystemExit(f"readers found different numbers of components: {sorted(counts)}")
    record.write(folder, "tables", document, _table(document))


def _ran(script: str) -> dict:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{script}\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def _table(document: dict) -> str:
    lines = [
        f"DataFrame of {document['rows']:,} edges between names, to the DataFrame of components\n",
        "| reader | s | range | memory GB |",
        "|-|-|-|-|",
    ]
    for name, runs in document["components"].items():
        times = [run["seconds"] for run in runs]
        memory = statistics.median(run["memory"] for run in runs) / 1e9
        lines.append(
            f"| {name} | **{statistics.median(times):.2f}** | {min(times):.2f}–{max(times):.2f} | {memory:.2f} |"
        )
    edges = next(iter(document["conversions"].values()))[0]["edges"]
    lines += ["", f"NetworkX DiGraph of {edges:,} weighted edges to arrays\n", "| reader | s | range |", "|-|-|-|"]
    for name, runs in document["conversions"].items():
        times = [run["seconds"] for run in runs]
        lines.append(f"| {name} | **{statistics.median(times):.2f}** | {min(times):.2f}–{max(times):.2f} |")
    return "\n".join(lines) + "\n"
