"""Fakes that ship: they stand at the ports, so that plugins and our own tests need no patching."""
