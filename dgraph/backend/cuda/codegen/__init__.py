"""Programs to CUDA C++: operators, module texts, the control block."""
