"""Mirror synchronisation: mirrors send proposals to masters (reduce), masters send values to mirrors (broadcast).

Reference: Dathathri et al., Gluon, PLDI 2018.
"""

from dgraph.engine.sync.host_exchange import prepare
from dgraph.engine.sync.mirror_sync import Sync
from dgraph.engine.sync.sync_plan import SyncPlan, plan

__all__ = ["Sync", "SyncPlan", "plan", "prepare"]
