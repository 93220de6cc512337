"""How the running is seen from outside: ready or not, and figures for Prometheus. Nothing here can delay a turn."""
