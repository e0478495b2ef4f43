"""Rounds (BSP supersteps): the loop, the context that an algorithm works with, timings and progress."""
