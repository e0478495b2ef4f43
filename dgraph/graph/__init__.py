"""From a name to this rank's part of a graph: formats, generators, clean edges, distributed build."""
