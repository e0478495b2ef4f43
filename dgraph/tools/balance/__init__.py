"""Schedules side by side on one GPU: time, memory, how even edges lie; as text, as a page, as pictures."""

from dgraph.tools.balance.balance_page import write_page
from dgraph.tools.balance.balance_table import detail, facts, table
from dgraph.tools.balance.candidates import Candidate, candidates
from dgraph.tools.balance.measure import Cell, measure

__all__ = ["Candidate", "Cell", "candidates", "detail", "facts", "measure", "table", "write_page"]
