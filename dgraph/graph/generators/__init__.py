"""Generators by family of graphs; each turns a size and its options into a :class:`recipe.Recipe`."""
