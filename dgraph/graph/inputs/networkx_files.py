"""GraphML and GEXF files, which NetworkX reads on rank 0."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import ParseError, parse

from dgraph._support.extras import extra
from dgraph.errors import DataError
from dgraph.graph.kept_rules import kept_rules

READERS = {".gexf": "read_gexf", ".graphml": "read_graphml"}
"""Suffix → NetworkX's reader."""


def is_networkx_file(spec: str) -> bool:
    """Return True if ``spec`` names a file that NetworkX reads."""
    return os.path.splitext(spec)[1].lower() in READERS and os.path.isfile(spec)


def read_networkx_file(path: str) -> Any:
    """Return the NetworkX graph of a file; its nodes are integers if all ids are written as such, else strings.

    Raises:
        UsageError: NetworkX is not installed.
        DataError: the file is not of its format, or holds several graphs, of which NetworkX returns one.
    """
    suffix = os.path.splitext(path)[1].lower()
    networkx = extra("networkx", f"a {suffix} file")
    try:
        graphs = sum(element.tag.rpartition("}")[2] == "graph" for element in parse(path).iter())
        graph = getattr(networkx, READERS[suffix])(path)
    except (ParseError, networkx.NetworkXException, KeyError, ValueError, TypeError, IndexError) as wrong:
        raise DataError(f"{path}: NetworkX cannot read it as {suffix} ({wrong}); write it again") from wrong
    if graphs > 1:
        raise DataError(f"{path}: it holds {graphs} graphs, inside or beside one another; write each to its own file")
    for *_, attributes in graph.edges(data=True):
        attributes |= graph.graph.get("edge_default", {}) | attributes  # of GraphML
    if all(node.isascii() and node.isdigit() and len(node) < 19 and str(int(node)) == node for node in graph):
        graph = networkx.relabel_nodes(graph, {node: int(node) for node in graph})
    return graph


def unread_note(graph: Any, options: Mapping[str, Any]) -> str:
    """Return a note that names the attributes of edges that ``from_networkx`` does not read; "" if there are none."""
    used = {options.get("weight", "weight"), *kept_rules(options.get("keep")), "id"}
    unread = sorted({name for *_, attributes in graph.edges(data=True) for name in attributes} - used)
    return f"attributes of edges not used: {', '.join(unread)}" if unread else ""
