"""Triangles of every edge: whole rows of vertices with a value for each edge (``full_rows.py``), and CPU kernels."""
