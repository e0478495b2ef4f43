"""Starting dgraph elsewhere: batch scripts for Slurm (``scripts/``), and ``python -m launch``, which writes others.

Standard library only, so that it runs on a login node that has nothing else.
"""
