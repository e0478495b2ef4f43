"""Programs of kcore: ``peel.py`` is the method, ``shells.py`` and ``estimates.py`` are variants."""
