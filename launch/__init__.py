"""Batch scripts that start dgraph under Slurm: ready-made ones in ``scripts/``, others from ``python -m launch``.

It uses only the standard library, so that it runs on a bare login node.
"""
