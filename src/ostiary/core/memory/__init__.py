"""What the assistant remembers: notes by area, who may read and write which, where each came from, and how one is forgotten."""
