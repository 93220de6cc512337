"""The words of the WebSocket protocol: frames, the shape of every method and event, error codes. It decides nothing."""

VERSION = 3
