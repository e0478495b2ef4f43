"""The service's web page: static files that the front serves at ``/``."""
