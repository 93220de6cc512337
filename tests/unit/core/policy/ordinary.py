"""Ordinary text of people who write programs: nothing in it is a secret, and nothing may be taken out."""

from pathlib import Path

ORDINARY = (Path(__file__).parent / "ordinary.txt").read_text().splitlines()
