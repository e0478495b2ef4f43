"""LDBC Graphalytics: its properties files, its six algorithms by its rules, and comparison with reference outputs.

Results are unofficial: only the Linked Data Benchmark Council publishes audited ones.
"""
