"""Collection of the findings of all hosts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from dgraph.comm import Comm
from dgraph.comm.hosts import hosts as every_host
from dgraph.tools.doctor.finding import Finding, fail
from dgraph.tools.doctor.gpus import gpu_findings
from dgraph.tools.doctor.host import host_findings
from dgraph.tools.doctor.launch_checks import exchange_findings, launch_findings
from dgraph.tools.doctor.transport_checks import transport_findings


def examine(comm: Comm) -> list[Finding]:
    """Run all checks and return the same findings on every rank; collective.

    One rank of each host checks the host and its GPUs; rank 0 checks the launcher.
    """
    hosts = every_host(comm)
    here = [rank for rank, host in enumerate(hosts) if host == hosts[comm.rank]]
    mine: list[Finding] = []
    if comm.rank == 0:
        mine += _guarded("launcher", lambda: launch_findings(comm, hosts))
    if comm.rank == here[0]:
        mine += _guarded("host", lambda: host_findings(len(here)))
        mine += _guarded("gpus", lambda: gpu_findings(len(here)))
    tried = [*exchange_findings(comm), *transport_findings(comm)]
    if comm.rank == 0:
        mine += tried
    gathered = comm.allgather_json([asdict(finding) for finding in mine])
    return _merged([[Finding(**finding) for finding in part] for part in gathered], hosts)


def _guarded(what: str, look) -> Iterable[Finding]:
    """Run a check; if it raises, return that as a finding."""
    try:
        return list(look())
    except Exception as error:
        return [fail(what, f"the check itself failed: {error!r}", "report it with this text")]


def _merged(parts: list[list[Finding]], hosts: list[str]) -> list[Finding]:
    """Return each finding once, with the host's name if hosts differ."""
    by_host: dict[Finding, list[str]] = {}
    for part, host in zip(parts, hosts, strict=True):
        for finding in part:
            by_host.setdefault(finding, []).append(host)
    about = {host for part, host in zip(parts, hosts, strict=True) if part}
    several = len(about) > 1
    names = [finding.what for finding in by_host]
    merged = []
    for finding, where in by_host.items():
        differs = several and len(where) < len(about) and names.count(finding.what) > 1
        text = f"{', '.join(where)}: {finding.found}" if differs else finding.found
        merged.append(Finding(finding.level, finding.what, text, finding.cure))
    return merged
