"""Tools around a run: doctor, estimate, balance, fetch."""
