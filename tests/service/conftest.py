import pytest
from live_service import started

import dgraph


@pytest.fixture(scope="session")
def live(tmp_path_factory):
    """Return a service with the graphs ``rome`` and ``calls``, whose vertices have names; tests share it."""
    with started(tmp_path_factory.mktemp("live")) as service:
        with dgraph.connect(service.unix) as client:
            client.load("rome", "rome99.gr")
        yield service
