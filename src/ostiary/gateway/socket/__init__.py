"""Sockets: one connection's life, what it is told without asking, and how a slow one is kept from growing."""
