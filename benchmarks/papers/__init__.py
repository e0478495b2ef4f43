"""The measured tables and figures of five papers, made again: our numbers beside theirs, and a verdict for each claim.

``p000.py`` to ``p004.py`` list figures and claims, ``bench.py`` runs their cells, ``command.py`` writes the results.
"""
