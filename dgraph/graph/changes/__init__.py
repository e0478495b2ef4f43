"""Changed graphs: edges added to and removed from a partition, which is kept; ``change.py`` is the entry."""
