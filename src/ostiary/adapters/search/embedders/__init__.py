"""What turns text into vectors: the one that ships with the house, and remote ones."""
