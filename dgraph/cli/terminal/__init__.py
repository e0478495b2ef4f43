"""Output of the command line: progress on a terminal, and streams that may be closed or full."""
