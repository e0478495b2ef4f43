"""GPU backend: programs as CUDA C++, one GPU a rank. CuPy is imported in ``device/device.py`` alone."""
