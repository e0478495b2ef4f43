"""A rank's graph in GPU memory: CSR, CSC, propagation blocking, and views of vertex fields."""
