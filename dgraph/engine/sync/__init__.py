"""Gluon-style synchronisation: mirrors give proposals to masters, masters give values to mirrors.
[Dathathri et al., PLDI 2018]"""

from dgraph.sync.plan import Plan, plan
from dgraph.sync.sync import Sync, prepare

__all__ = ["Plan", "Sync", "plan", "prepare"]
