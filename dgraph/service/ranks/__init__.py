"""What the ranks of the service run: requests of the front, one after the other, on all ranks."""
