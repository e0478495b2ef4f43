"""Benchmarks of dgraph and its peers, which alternate in one run; each figure is stored with its command."""
