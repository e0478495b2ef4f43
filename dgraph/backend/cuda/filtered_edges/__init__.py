"""Machines whose rounds walk a part of the edges: those that can propose anything, or light ones."""
