"""Minimum spanning forests by rows: on CPU threads, on a GPU, and on the GPUs of several ranks."""
