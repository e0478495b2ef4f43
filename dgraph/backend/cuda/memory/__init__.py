"""GPU memory: the plan that is made before anything is allocated, and the arrays of a machine."""
