"""Attacks on one's own rules: a hostile model, sender, page, file and client against a copy of the configuration.

`throwaway` builds the copy, `witness` is another process that sees what gets out, `loosened` takes single layers away to prove
that an attack is real, `attacks` and `errands` hold what is tried, `playing` plays it.
"""
