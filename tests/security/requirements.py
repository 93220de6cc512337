"""What must never happen, as far as this house has the doors for it. Letters are the shapes of attack; each id has tests.

A: a web page takes over. B: scopes leak. D: proof is missing. H: the house is poisoned. J: too much of something.
"""

from collections.abc import Mapping

REQUIREMENTS: Mapping[str, str] = {
    "A1": "A page of another origin gets nothing, and no answer permits it to read one.",
    "A2": "A name that merely resolves to this machine is not this machine.",
    "A3": "A token counts in the Authorization header and nowhere else: not in a URL, cookie, body or other header.",
    "A4": "No request over HTTP changes the configuration.",
    "A5": "What the assistant or a caller wrote is never served as a page.",
    "B1": "Only the exact token opens the door; absent, empty, wrong and placeholder ones do not.",
    "B2": "No spelling of a path changes what needs the token.",
    "B3": "No header about where a request came from counts as being local or known.",
    "B4": "`user` names a conversation and never who speaks.",
    "B5": "`system` and `tools` of a request grant nothing: no tool of ours, no right.",
    "B6": "Guessing tokens is slowed down, and the owner is not locked out by it.",
    "B7": "A token that was replaced opens nothing any more.",
    "D1": "Nothing of a body is read before the token was checked.",
    "D2": "A webhook nobody configured does not exist.",
    "D3": "A webhook opens only to its own token or signature, spelled exactly, and these open nothing else.",
    "D4": "A delivery that comes again, replayed or repeated, is not run again.",
    "D5": "A payload is data: it chooses no session, role, recipient or command, and cannot end its own quotation.",
    "H1": "Secrets are in no answer, log, journal, export, listing or file.",
    "H2": "What people say is in no log and in no file in plain text.",
    "H3": "References stay references on disk.",
    "H4": "A `.env` file in the working directory or the home is not honoured.",
    "H5": "A model's call to a tool it was not given runs nothing, whatever it is called.",
    "H6": "A model cannot read outside its own documents.",
    "H7": "Answers say nothing of the inside: no path, no trace, no version of a library.",
    "J1": "A body has a limit, declared or not, compressed or not.",
    "J2": "The head of a request has a limit.",
    "J3": "Connections that send nothing do not stop the house for others.",
    "J4": "A flood of requests is answered or refused, and the house goes on.",
    "J5": "Malformed HTTP is refused, and two readings of one request are not possible.",
}
