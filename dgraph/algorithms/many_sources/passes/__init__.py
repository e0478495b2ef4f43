"""Jobs of a service that differ in their sources alone, as one pass on one rank's CPU."""
