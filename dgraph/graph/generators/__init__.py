"""One module a family of graphs; each generator turns a size and its options into a :class:`recipe.Recipe`."""
