"""Programs with both ``priority`` and ``apply``: core numbers, plain and with sums, and distances."""

from dgraph.program import ADD, INF, MAX, MIN, Field, Global, Program, maximum, minimum, where


class Cores(Program):
    """Core numbers: bucket k drops the vertices with k neighbours left."""

    monotone = True
    widens = False

    core = Field("int32")
    lost = Field("int64", reduce=ADD)

    def init(self, v, g):
        return {"core": v.out_degree, "active": True}

    def priority(self, v):
        return v.core

    def cond(self, v, g):
        return v.core > g.bucket

    def edge(self, u, e, v):
        return {"lost": 1}

    def apply(self, v, g):
        remains = v.core > g.bucket
        return {"core": where(remains, maximum(v.core - v.lost, g.bucket), v.core), "active": remains}


class Counted(Cores):
    """The program above, with sums over the vertices of a round and an end of its own."""

    dropped = Global("int64", reduce=ADD, keep=True)
    highest = Global("int64", reduce=MAX)
    least = Global("int64", init=-1)

    def init(self, v, g):
        return {**super().init(v, g), "dropped": where(v.out_degree == 0, 1, 0)}

    def apply(self, v, g):
        out = super().apply(v, g)
        drops = out["active"] & (out["core"] == g.bucket)
        return {**out, "dropped": drops, "highest": out["core"]}

    def step(self, g):
        return {"least": maximum(g.least, g.bucket), "done": g.active == 0}


class Distances(Program):
    """Distances from ``source`` by buckets; edges read what ``apply`` writes."""

    source: int = 0
    width: float = 4.0

    dist = Field("int64")
    best = Field("int64", reduce=MIN)

    def init(self, v, g):
        here = v.id == self.source
        return {"dist": where(here, 0, INF), "active": here}

    def priority(self, v):
        return v.dist / self.width

    def edge(self, u, e, v):
        return {"best": u.dist + e.weight}

    def apply(self, v, g):
        return {"dist": minimum(v.dist, v.best), "active": v.best < v.dist}
