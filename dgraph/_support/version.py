"""Version number, for the package's metadata, reports and ``--version``."""

__version__ = "0.1.0"
