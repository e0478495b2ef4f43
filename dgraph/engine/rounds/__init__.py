"""Rounds (BSP supersteps): the loop, the context that an algorithm works with, the record of a run, progress."""
