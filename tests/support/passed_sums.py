"""Programs that sum values of neighbours, by weight or not, for tests of the sums alone."""

from dgraph.program import ADD, ALL, Field, Program, where


class Passed(Program):
    """Sum the neighbours' start values, which shrink from round to round."""

    rounds: int = 1
    shrink: float = 1.0
    domain = ALL

    start = Field("float64", given=True)
    value = Field("float64")
    total = Field("float64", reduce=ADD)
    found = Field("float64")

    def init(self, v, g):
        return {"value": v.start, "found": 0.0}

    def edge(self, u, e, v):
        return {"total": u.value}

    def apply(self, v, g):
        return {"found": v.total, "value": v.value * self.shrink}

    def step(self, g):
        return {"done": g.round >= self.rounds}


class Weighed(Passed):
    def edge(self, u, e, v):
        return {"total": u.value * e.weight}


class Halved(Passed):
    def edge(self, u, e, v):
        return {"total": e.weight * (u.value * 0.5)}


class Squared(Passed):
    def edge(self, u, e, v):
        return {"total": u.value * e.weight * e.weight}


class Divided(Passed):
    def edge(self, u, e, v):
        return {"total": u.value / (e.weight + 1)}


class Wanted(Passed):
    def edge(self, u, e, v):
        return {"total": where(v.found > 0.0, u.value, 0.0)}
