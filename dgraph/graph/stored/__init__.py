"""Graphs in stores: parts written by all ranks, and redistributed if the number of ranks differs."""
