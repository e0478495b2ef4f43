"""Cases of .arcs, see ``__init__.py``."""

from plain_readers import RefusedError, not_most, rows_of, text_lines

FILES = {"a.arcs": "# hello\n> 1 2 5\n>\t2 3 7\n\n> 3 1 1\n"}


def plain(content, passed=None):
    """Return direction, vertices and edges."""

    def row(line):
        if line[:1] != ">" or line[1:2] not in (" ", "\t"):
            raise RefusedError
        return line[1:]

    lines = list(text_lines(content, "#"))
    if not lines:
        raise RefusedError
    edges = rows_of(lines, 3, passed=passed, row=row)
    not_most(passed, edges)
    return True, None, edges


def written(n, edges, spell, rng):
    """Return an .arcs file."""
    return "# arcs\n" + "".join(f"> {u} {v} {spell(w)}\n" for u, v, w in edges)


VALID = {"a.arcs": written}
PLAIN = {"a.arcs": plain}
