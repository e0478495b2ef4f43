"""Utilities that know nothing of graphs: cache folder, compiled code, interrupts, version."""
