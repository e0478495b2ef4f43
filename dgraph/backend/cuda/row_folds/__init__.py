"""Kernels of row reducers: ``row_folds.cuh`` takes rows by length, a file a reducer folds their keys."""
