"""Jobs: their records, those that wait, the queue that runs them, and the memory that a run needs."""
