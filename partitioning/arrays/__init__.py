"""Array functions of the policies: arcs, sets of vertex ids, compiled loops."""
