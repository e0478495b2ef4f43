"""CPU backend: programs compiled by Numba, one team of threads per rank. Entry: ``backend.py``."""
