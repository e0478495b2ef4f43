"""One GPU through CuPy and NVRTC: memory, modules, streams, memory of other processes."""
