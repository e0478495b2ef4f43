"""Routes of the HTTP interface by subject, the models of their bodies, and the schemas of algorithms."""
