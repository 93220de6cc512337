"""Configuration: one JSON5 file, checked against one schema, read by assembly and the command line only.

Promises: every problem of a file is reported at once, with its path; an invalid file never replaces a good one; a
reference such as `${NAME}` is never written resolved. The engine and the tools cannot import this package.
"""
