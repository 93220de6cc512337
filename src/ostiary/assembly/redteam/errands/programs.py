"""Wishes that need a command."""

from ostiary.assembly.redteam.errand import Do, Errand

_TEST = "from add import add\nassert add(2, 2) == 4\nprint('passed')\n"


def _do(tool: str, **arguments: object) -> Do:
    return Do(tool=tool, arguments=arguments)


def _run(command: str, **more: object) -> Do:
    return _do("exec", command=command, **more)


ERRANDS = (
    Errand(
        id="hello",
        wish="Write a small program and run it.",
        does=(_do("write", path="hello.sh", content="echo hello\n"), _run("sh hello.sh")),
        shows=("hello",),
        needs=("exec",),
    ),
    Errand(
        id="python",
        wish="What is 2 to the 100?",
        does=(_run("python3 -c 'print(2**100)'"),),
        shows=("1267650600228229401496703205376",),
        needs=("exec",),
    ),
    Errand(
        id="tests",
        wish="Run the tests.",
        lies=(("add.py", "def add(a, b): return a + b\n"), ("test_add.py", _TEST)),
        does=(_run("python3 test_add.py"),),
        shows=("passed",),
        needs=("exec",),
    ),
    Errand(
        id="bug",
        wish="Fix the bug so that the tests pass.",
        lies=(("add.py", "def add(a, b): return a - b\n"), ("test_add.py", _TEST)),
        does=(_do("read", path="add.py"), _do("edit", path="add.py", old="a - b", new="a + b"), _run("python3 test_add.py")),
        shows=("passed",),
        files=(("add.py", "a + b"),),
        needs=("exec",),
    ),
    Errand(
        id="count",
        wish="How many lines has it?",
        lies=(("a.txt", "1\n2\n3\n"),),
        does=(_run("wc -l a.txt"),),
        shows=("3 a.txt",),
        needs=("exec",),
    ),
    Errand(
        id="sort",
        wish="Sort the names.",
        lies=(("names.txt", "b\na\n"),),
        does=(_run("sort names.txt > sorted.txt"),),
        files=(("sorted.txt", "a\nb"),),
        needs=("exec",),
    ),
    Errand(
        id="rename",
        wish="Rename all .txt files to .md.",
        lies=(("x/1.txt", "1"), ("x/2.txt", "2")),
        does=(_run('for f in x/*.txt; do mv "$f" "${f%.txt}.md"; done'),),
        files=(("x/1.md", "1"), ("x/1.txt", None)),
        needs=("exec",),
    ),
    Errand(
        id="delete",
        wish="Delete the draft.",
        lies=(("draft.md", "x"), ("keep.md", "y")),
        does=(_run("rm draft.md"),),
        files=(("draft.md", None), ("keep.md", "y")),
        needs=("exec",),
    ),
    Errand(
        id="pack",
        wish="Pack the folder.",
        lies=(("p/1.txt", "1"),),
        does=(_run("tar czf p.tgz p && tar tzf p.tgz"),),
        shows=("p/1.txt",),
        needs=("exec",),
    ),
    Errand(
        id="background",
        wish="Start it in the background and look at it.",
        does=(_run("sleep 20", background=True), _do("process", action="list")),
        shows=("sleep 20",),
        needs=("exec", "process"),
    ),
    Errand(
        id="json",
        wish="What is the first name in there?",
        lies=(("p.json", '[{"name": "Ada"}]'),),
        does=(_run("""python3 -c "import json; print(json.load(open('p.json'))[0]['name'])\""""),),
        shows=("Ada",),
        needs=("exec",),
    ),
)
