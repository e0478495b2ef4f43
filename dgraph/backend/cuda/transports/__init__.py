"""How messages get from GPU to GPU: chosen for each pair of ranks (``choice.py``), tested at the start
(``selftest.py``), one interface for all (``mailboxes.py``). ``dgraph/backend/connect.py`` lists the transports."""

from dgraph.backend.cuda.transports.choice import compare, connect, joined
from dgraph.backend.cuda.transports.links import Links
from dgraph.backend.cuda.transports.mailboxes import HEADER, SIGNALS, Mailboxes

__all__ = ["HEADER", "SIGNALS", "Links", "Mailboxes", "compare", "connect", "joined"]
