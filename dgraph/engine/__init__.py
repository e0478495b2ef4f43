"""The engine: rounds of programs, mirror synchronisation, checkpoints."""
