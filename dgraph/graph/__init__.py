"""Graph loading: formats, generators, cleaning and the distributed build of each rank's partition."""
