"""Results: columns by vertex, and the files that they are written to."""
