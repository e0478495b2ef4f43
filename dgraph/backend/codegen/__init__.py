"""Code generation shared by the backends; see ``expression_lowering.py``."""
