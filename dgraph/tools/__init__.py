"""Tools beside a run: doctor, estimate, balance, fetch."""
