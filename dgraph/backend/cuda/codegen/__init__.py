"""Programs as CUDA C++: operators, module texts, the control block, message layout."""
