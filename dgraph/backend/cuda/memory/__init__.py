"""GPU memory: the plan before anything is allocated, and the arrays of a machine."""
