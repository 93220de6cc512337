"""Fenced execution: the backends of the Sandbox port."""
