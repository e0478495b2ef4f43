"""HTTP process of the service: catalogue, queue of jobs, history, security, results, page.

``http_server.py`` runs it, ``app.py`` assembles the application. It imports no MPI, no Numba and no CuPy: all work on
graphs is a request to rank 0, through ``dgraph.service.supervisor``.
"""
