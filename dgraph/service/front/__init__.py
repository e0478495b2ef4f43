"""HTTP process of the service: catalogue, queue of jobs, history, security, results, page."""
