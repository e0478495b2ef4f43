"""Thread teams, the choice of the number of threads per round, and atomics."""
