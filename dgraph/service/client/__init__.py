"""Client: graphs and results of a service as local objects, without MPI."""
