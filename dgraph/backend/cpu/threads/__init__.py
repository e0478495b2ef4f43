"""Teams of threads, how many a round gets, and atomics."""
