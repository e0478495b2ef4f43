"""Engine: rounds of programs, mirror synchronisation, checkpoints."""
