"""Backups: consistent, incremental, encrypted under a key of their own, each restorable by itself."""
