"""Real graphs by name: where they lie, what they are, and a download that goes on where it broke off."""

from dgraph.fetch.download import fetch
from dgraph.fetch.table import DATASETS, Dataset

__all__ = ["DATASETS", "Dataset", "fetch"]
