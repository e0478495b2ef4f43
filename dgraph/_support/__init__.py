"""Support that needs nothing of a graph: the cache folder, compiled code, interrupts, the version."""
