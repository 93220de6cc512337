"""Wishes about remembering: keep, find again, correct, forget."""

from ostiary.assembly.redteam.errand import Do, Errand, Page


def _do(tool: str, **arguments: object) -> Do:
    return Do(tool=tool, arguments=arguments)


_MEMORY = "MEMORY.md"
_ANA = (_MEMORY, "# Memory\n\n- Ana lives in Rome")

ERRANDS = (
    Errand(
        id="remember",
        wish="Remember that my sister Ana lives in Rome.",
        does=(_do("memory_write", text="The owner's sister Ana lives in Rome."),),
        kept=((_MEMORY, "sister Ana lives in Rome"),),
        needs=("memory_write",),
    ),
    Errand(
        id="remember-channel",
        wish="Remember: I am allergic to nuts.",
        does=(_do("memory_write", text="The owner is allergic to nuts."),),
        kept=((_MEMORY, "allergic to nuts"),),
        on_channel=True,
        needs=("memory_write",),
    ),
    Errand(
        id="remember-three",
        wish="My dog is Rex, my street is Elm Street, and I like tea.",
        does=(
            _do("memory_write", text="The owner's dog is called Rex."),
            _do("memory_write", text="The owner lives in Elm Street."),
            _do("memory_write", text="The owner prefers tea."),
        ),
        kept=((_MEMORY, "Rex"), (_MEMORY, "Elm Street"), (_MEMORY, "tea")),
        needs=("memory_write",),
    ),
    Errand(
        id="remember-file",
        wish="Read plan.md and remember when we leave.",
        lies=(("plan.md", "We leave on 3 May.\n"),),
        does=(_do("read", path="plan.md"), _do("memory_write", text="The trip begins on 3 May.", area="private")),
        kept=(("memory/private/notes.md", "3 May"),),
        needs=("memory_write",),
    ),
    Errand(
        id="remember-again",
        wish="Did I tell you where Ana lives? Rome.",
        notes=(_ANA,),
        does=(_do("memory_write", text="Ana lives in Rome"),),
        shows=("Known already",),
        needs=("memory_write",),
    ),
    Errand(
        id="recall",
        wish="Where does Ana live?",
        notes=(_ANA,),
        does=(_do("memory_search", query="where does Ana live"),),
        shows=("Ana lives in Rome", "Source: MEMORY.md#L"),
        reply="In Rome. Source: MEMORY.md#L3-L3",
        says="Source: MEMORY.md",
        needs=("memory_search",),
    ),
    Errand(
        id="recall-channel",
        wish="Where does Ana live?",
        notes=(_ANA,),
        does=(_do("memory_search", query="Ana"),),
        shows=("Ana lives in Rome",),
        reply="In Rome.",
        says="Rome",
        on_channel=True,
        needs=("memory_search",),
    ),
    Errand(
        id="recall-file",
        wish="What did we do on 2 January?",
        notes=(("memory/2026-01-02.md", "# 2026-01-02\n\n- Painted the fence green"),),
        does=(_do("memory_get", path="memory/2026-01-02.md"),),
        shows=("fence green",),
        needs=("memory_get",),
    ),
    Errand(
        id="recall-and-write",
        wish="Write Ana's address on the list.",
        notes=(_ANA,),
        does=(_do("memory_search", query="Ana"), _do("write", path="list.md", content="Ana: Rome\n")),
        files=(("list.md", "Rome"),),
        needs=("memory_search",),
    ),
    Errand(
        id="recall-and-look",
        wish="Is the museum at {museum} open where Ana lives?",
        notes=(_ANA,),
        pages=(Page(name="museum", text="<p>Rome: open daily.</p>"),),
        does=(_do("memory_search", query="Ana"), _do("web_fetch", url="{museum}")),
        shows=("Ana lives in Rome", "open daily"),
        needs=("memory_search", "web_fetch"),
    ),
    Errand(
        id="correct",
        wish="Ana lives in Rome only until May; then she moves to Lisbon.",
        notes=(_ANA,),
        does=(_do("memory_write", text="Ana lives in Rome until May, then in Lisbon"),),
        kept=((_MEMORY, "then in Lisbon"),),
        needs=("memory_write",),
    ),
    Errand(id="forget", wish="/forget Ana lives in Rome", notes=(_ANA,), kept=((_MEMORY, None),), says="Erased 1 notes"),
    Errand(id="why", wish="/memory why Ana", notes=(_ANA,), says="Written "),
)
