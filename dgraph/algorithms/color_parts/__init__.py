"""Parts of color: programs of paper 003 (``priorities.py``), and two colours where they suffice (``two_colors.py``)."""
