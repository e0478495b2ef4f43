"""Rows of all ranks on the GPU of each: by gid or degree, oriented for triangles, or as a whole graph for one GPU."""
