"""Program of the ranks: requests of the front, one after the other, on all ranks."""
