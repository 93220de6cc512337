"""Ostiary: a self-hosted assistant gateway. It decides who comes in, and it never hands over the keys."""

__version__ = "0.1.0"
