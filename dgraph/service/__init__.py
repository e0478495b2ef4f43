"""Resident service: graphs stay loaded on the ranks, and a front process answers HTTP for them.

``front/`` is the HTTP process: catalogue, queue, history, security. ``supervisor/`` starts the MPI job and speaks with
rank 0. ``ranks/`` is what the MPI job runs. ``client/`` is ``dgraph.connect``. ``messages.py`` is all that the front
and the ranks share.
"""
