"""Comparison of schedules on one GPU: time, memory, load balance; as text, JSON, HTML page or picture."""

from dgraph.tools.balance.balance_page import write_page
from dgraph.tools.balance.balance_table import detail, facts, table
from dgraph.tools.balance.candidates import Candidate, candidates
from dgraph.tools.balance.measure import Cell, measure

__all__ = ["Candidate", "Cell", "candidates", "detail", "facts", "measure", "table", "write_page"]
