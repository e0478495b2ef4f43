"""Limits of what clients send: connections and headers, bodies, JSON values, and what the rows of tables decode to."""
