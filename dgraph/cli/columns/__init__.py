"""Columns that a command line names: of edges in its conditions, of vertices in a table that is joined."""
