"""Code generation shared by the backends."""
