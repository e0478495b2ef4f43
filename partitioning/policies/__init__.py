"""The policies, one idea a file; importing a file registers its policies."""
