"""Asking a person: what is asked, who may answer, what an answer permits, and when it lapses."""
