"""What dgraph's speed is measured with: peers and dgraph alternate in one run, and the figures carry their command."""
