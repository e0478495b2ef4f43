"""Report as one self-contained HTML page: no network, no server, no library."""

from dgraph.report.page.page import page, write_page

__all__ = ["page", "write_page"]
