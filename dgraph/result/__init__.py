"""Results of runs, distributed over the ranks, and the files that they are written to."""
