"""The CPU backend: programs rendered to Numba, a team of threads a rank."""
