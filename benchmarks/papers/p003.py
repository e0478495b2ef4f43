"""Paper 001: a chapter on graph algorithms on GPUs."""

FIGURES_HERE: list = []
CLAIMS: list = []
