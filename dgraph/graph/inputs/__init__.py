"""Edges in memory become raw edges: arrays, data frames, Arrow tables, NetworkX graphs and SciPy matrices.

``edge_tables.py``, ``networkx_graphs.py`` and ``matrices.py`` find the columns, by labels with ``column_labels.py``;
``vertex_columns.py`` reads ids and names, ``weight_values.py`` weights, ``attribute_values.py`` kept columns, all
through ``column_arrays.py``. ``word_codes.py`` numbers names, ``edge_arrays.py`` makes ``RawEdges``.
"""
