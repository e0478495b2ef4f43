"""Gluon-style synchronisation: mirrors give proposals to masters, masters give values to mirrors.
[Dathathri et al., PLDI 2018]"""

from dgraph.engine.sync.mirror_sync import Sync, prepare
from dgraph.engine.sync.sync_plan import SyncPlan, plan

__all__ = ["Sync", "SyncPlan", "plan", "prepare"]
