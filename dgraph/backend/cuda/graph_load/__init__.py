"""Text of edge lists parsed on a GPU: :func:`~dgraph.backend.cuda.graph_load.plain_lines.plain_parser`."""
