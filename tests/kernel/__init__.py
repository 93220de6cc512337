"""Real escapes against the real fence."""
