"""The policies, one method a file; importing a file registers its policies."""
