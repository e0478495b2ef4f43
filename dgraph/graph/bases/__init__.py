"""Bases of the handle of a graph: identity, forms, columns and changes, subgraphs."""
