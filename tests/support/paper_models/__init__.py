"""Models of the papers' systems in plain Python, written from their printed pseudo-code alone: one file a paper."""
