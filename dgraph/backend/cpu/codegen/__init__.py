"""Code generation for the CPU: traced program → Python source → Numba. Entry: ``generated_module.py``."""
