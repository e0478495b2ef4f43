"""Inputs that dgraph does not read, and what to do with them: formats of other programs, archives and URLs."""

from __future__ import annotations

import re

_NETWORKX = {
    ".gexf": "networkx.read_gexf({path!r})",
    ".gml": "networkx.read_gml({path!r}, label='id')",
    ".graphml": "networkx.read_graphml({path!r})",
    ".json": "networkx.node_link_graph(json.load(open({path!r})))",
    ".net": "networkx.Graph(networkx.read_pajek({path!r}))",
    ".paj": "networkx.Graph(networkx.read_pajek({path!r}))",
    ".dot": "networkx.nx_pydot.read_dot({path!r})",
    ".gv": "networkx.nx_pydot.read_dot({path!r})",
}
_PANDAS = {
    ".db": "pandas.read_sql('select source, target from edges', sqlite3.connect({path!r}))",
    ".sqlite": "pandas.read_sql('select source, target from edges', sqlite3.connect({path!r}))",
    ".sqlite3": "pandas.read_sql('select source, target from edges', sqlite3.connect({path!r}))",
    ".duckdb": "duckdb.connect({path!r}).sql('select source, target from edges').df()",
    ".h5": "pandas.read_hdf({path!r})",
    ".hdf5": "pandas.read_hdf({path!r})",
    ".jsonl": "pandas.read_json({path!r}, lines=True)",
    ".ndjson": "pandas.read_json({path!r}, lines=True)",
    ".ods": "pandas.read_excel({path!r})",
    ".orc": "pandas.read_orc({path!r})",
    ".xls": "pandas.read_excel({path!r})",
    ".xlsm": "pandas.read_excel({path!r})",
    ".xlsx": "pandas.read_excel({path!r})",
    ".xml": "pandas.read_xml({path!r})",
}
_OTHERS = {
    ".mat": "Python reads it: dgraph.Graph.from_scipy(scipy.io.loadmat({path!r})[NAME])",
    ".npy": "Python reads it: dgraph.Graph.from_edges(*numpy.load({path!r}).T), if its rows are edges",
    ".gpickle": "pickles run code when they are read; where one is trusted, load it and call "
    "dgraph.Graph.from_networkx",
    ".pickle": "pickles run code when they are read; where one is trusted, load it and call "
    "dgraph.Graph.from_networkx or from_pandas",
}
_OTHERS[".pkl"] = _OTHERS[".pickle"]
_PACKED = (".7z", ".bz2", ".lz4", ".rar", ".tar", ".tgz", ".xz", ".z", ".zip")


def advice_on_suffix(path: str, suffix: str) -> str:
    """Return what to do with a file of another program; "" if its suffix is not known here."""
    if suffix in _NETWORKX:
        return f"Python reads it: dgraph.Graph.from_networkx({_NETWORKX[suffix].format(path=path)})"
    if suffix in _PANDAS:
        csv = "save it as .csv, or read it in Python: " if suffix in (".xlsx", ".xls", ".xlsm", ".ods") else ""
        table = _PANDAS[suffix].format(path=path)
        return f"{csv or 'Python reads it: '}dgraph.Graph.from_pandas({table}, source, target)"
    if suffix in _PACKED:
        return "unpack it first; text may stay compressed with gzip or zstd"
    return _OTHERS.get(suffix, "").format(path=path)


def advice_on_url(path: str) -> str:
    """Return what to do with a URL; "" if ``path`` is none."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):/{1,3}[^/]", path)
    if not scheme:
        return ""
    if scheme[1].lower() == "file":
        return f"give the path alone: /{path[len('file:') :].lstrip('/')}"
    if scheme[1].lower() in ("http", "https", "ftp"):
        return f"download it first (curl -LO {path}), or pipe it: curl -L {path} | COMMAND /dev/stdin --format NAME"
    return f"copy it to a file first; dgraph reads files, not {scheme[1]}"
