"""Triangles: wedges of oriented rows, on CPU threads, one GPU and several GPUs."""
