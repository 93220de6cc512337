"""`python -m bench`: the assembled gateway, started as a user starts it, measured against stated bars."""
