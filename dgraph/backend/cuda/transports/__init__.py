"""Transports of messages between GPUs.

One is chosen for each pair of ranks (``choice.py``) and tested before use (``selftest.py``); all are used through
:class:`Mailboxes`. ``dgraph/backend/transport_names.py`` lists them.
"""

from dgraph.backend.cuda.transports.choice import compare, connect, joined
from dgraph.backend.cuda.transports.links import Links
from dgraph.backend.cuda.transports.mailboxes import SIGNALS, Mailboxes, close

__all__ = ["SIGNALS", "Links", "Mailboxes", "close", "compare", "connect", "joined"]
