"""The graph on a GPU: CSR and CSC, propagation blocking, fields of vertices."""
