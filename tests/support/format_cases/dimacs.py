"""Cases of .gr and .col, see ``__init__.py``."""

from plain_readers import plain_dimacs

FILES = {
    "a.gr": "c hello\np sp 4 3\na 1 2 5\na 2 3 7\n\na 3 1 1\n",
    "a.col": "c hello\np edge 4 3\ne 1 2\ne 2 3\ne 3 1\n",
    "b.col": "p col 4 3\ne 1 2\ne 2 3\ne 3 1\n",
}
UNDIRECTED = {"a.col", "b.col"}
IDS = {".gr": range(1, 5), ".col": range(1, 5)}
PLAIN = {
    "a.gr": plain_dimacs,
    "a.col": lambda content, passed: plain_dimacs(content, passed, ("edge", "col"), "e", 2),
}


def arcs(n, edges, spell, rng):
    """Return a .gr file."""
    return f"c x\np sp {n} {len(edges)}\n" + "".join(f"a {u + 1} {v + 1} {spell(w)}\n" for u, v, w in edges)


def pairs(n, edges, spell, rng):
    """Return a .col file."""
    head = f"c x\np {rng.choice(['edge', 'col'])} {n} {len(edges)}\n"
    return head + "".join(f"e {u + 1} {v + 1}\n" for u, v, _ in edges)


VALID = {"a.gr": arcs, "a.col": pairs}
