"""Real graphs by name: where they lie, what they are, and a download that goes on where it broke off."""

from dgraph.tools.fetch.datasets import DATASETS, Dataset
from dgraph.tools.fetch.download import fetch

__all__ = ["DATASETS", "Dataset", "fetch"]
