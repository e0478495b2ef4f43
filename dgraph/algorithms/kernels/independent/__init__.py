"""Maximal independent set: kernels for one GPU."""
