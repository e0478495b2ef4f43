"""Prover of certificates on the threads of CPU ranks; open ``host_prover.py`` first."""
