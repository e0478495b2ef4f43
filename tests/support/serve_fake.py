"""Serve fake ranks: ``python serve_fake.py STATE PORT TOKENS``. A process of its own, for tests of the whole front."""

import sys
from pathlib import Path

from fake_ranks import FakeRanks

from dgraph.service.front import http_server
from dgraph.service.front.limits import body_limits, http_protocol
from dgraph.service.front.settings import Settings

SLOW_S = 0.5
"""Seconds that slow clients have."""

if __name__ == "__main__":
    state, port, tokens = sys.argv[1:]
    root = Path(state).parent
    settings = Settings(Path(state), root, port=int(port), token_file=Path(tokens), drain_s=1.0)
    body_limits.BODY_S = http_protocol.HEADERS_S = SLOW_S
    sys.exit(http_server.serve(settings, lambda _: FakeRanks(), quiet=True))
