"""States of edges in a truss decomposition: their values in the rows of both ends."""

ALIVE, LEAVING = 1 << 30, 1 << 29
"""Values of edges that are left, and of those that leave in this round; smaller ones are those of edges that left."""
