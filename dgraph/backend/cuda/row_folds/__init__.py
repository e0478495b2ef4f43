"""Kernels of row reducers: ``row_folds.cuh`` takes rows by length, one file a reducer folds their keys."""
