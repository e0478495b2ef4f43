"""Measures of partitions of the vertices: of a column of labels against a graph, and of columns against each other."""
