"""Graphs in stores: files of parts, written by all ranks, and dealt out anew at another number of ranks."""
