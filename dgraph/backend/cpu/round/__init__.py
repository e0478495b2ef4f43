"""One round on CPU threads: the machine, its state, and the phases that Numba compiles."""
