"""Commands that run a published benchmark by its rules: Graph500 and LDBC Graphalytics."""
