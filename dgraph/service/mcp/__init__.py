"""Model Context Protocol over a service: tools with which an agent finds graphs, runs algorithms and reads answers."""
