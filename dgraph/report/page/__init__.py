"""The report as one HTML page that needs nothing else: no network, no server, no library."""

from dgraph.report.page.page import page, write_page

__all__ = ["page", "write_page"]
