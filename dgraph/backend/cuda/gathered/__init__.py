"""Whole graph on one GPU of several, for algorithms that one GPU finishes sooner than several that exchange."""
