"""Graphs as tables, matrices, graphs of other libraries, and pictures, on one rank or each."""
