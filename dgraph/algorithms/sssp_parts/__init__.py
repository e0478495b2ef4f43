"""Variants of sssp from the papers: programs, predecessors, and negative cycles.

``variants.py`` is the table; ``bellman_ford.py`` and ``waiting_buckets.py`` hold the programs of rounds;
``negative_weights.py`` runs those that take negative weights, and refuses negative cycles.
"""
