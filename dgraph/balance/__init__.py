"""Schedules side by side on one GPU: time, memory, how even edges lie; as text, as a page, as pictures."""

from dgraph.balance.measure import Cell, measure
from dgraph.balance.page import write_page
from dgraph.balance.table import detail, facts, table
from dgraph.balance.ways import Way, ways

__all__ = ["Cell", "Way", "detail", "facts", "measure", "table", "ways", "write_page"]
