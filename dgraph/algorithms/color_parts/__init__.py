"""Parts of color.

Programs of paper 003 (``priorities.py``) and figures of their rounds (``colored_rounds.py``); two colours where they
suffice (``two_colors.py``).
"""
