"""A small model on this machine, so that a fresh one answers without a key.

`weights` fetches the file once, by hash. `child` runs it in a process of its own; `process` is the gateway's end of the
pipes. `prompt` fits a conversation into a small window, `router` makes it choose tools, `client` is the wire.
"""
