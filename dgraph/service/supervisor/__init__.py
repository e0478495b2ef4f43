"""Start, supervision and end of the MPI job, and the socket to its rank 0."""
