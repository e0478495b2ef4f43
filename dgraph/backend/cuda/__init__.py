"""The GPU backend: programs rendered to CUDA C++, one GPU a rank. CuPy is imported in ``device/device.py`` alone."""
