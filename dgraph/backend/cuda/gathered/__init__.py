"""Whole graph on one GPU of several, for algorithms that one GPU finishes faster than several that exchange."""
