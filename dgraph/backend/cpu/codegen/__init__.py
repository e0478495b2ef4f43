"""Programs to generated Python that Numba compiles."""
