"""Model of last_first, see ``__init__.py``."""

from schedule_models.papers import vertex


def last_first(degrees, blocks, threads):
    """Assign vertex n - 1 - i to thread i, cyclically."""
    return vertex(degrees[::-1], blocks, threads)


MODELS = {"last_first": last_first}
