"""Real-world graphs by name: their sources and licences, and a download that resumes after an interruption."""

from dgraph.tools.fetch.datasets import DATASETS, Dataset
from dgraph.tools.fetch.download import fetch

__all__ = ["DATASETS", "Dataset", "fetch"]
