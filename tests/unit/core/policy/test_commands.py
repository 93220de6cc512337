import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostiary.core.policy.commands import MAX_SIMPLE, is_simple, matches, offers, runs_what_it_finds, simple_argv

NOT_SIMPLE = [
    "",
    "   ",
    "ls; rm x",
    "ls && rm x",
    "ls || rm x",
    "ls | sh",
    "ls & rm x",
    "ls\nrm x",
    "ls\rrm x",
    "ls\x00",
    "echo $(rm x)",
    "echo `rm x`",
    "echo $HOME",
    "echo ${HOME}",
    'echo "$HOME"',
    'echo "`id`"',
    "echo a > b",
    "cat < b",
    "cat <(id)",
    "rm *",
    "ls ?.txt",
    "ls [ab]",
    "echo {a,b}",
    "ls ~",
    "ls --file=~/x",
    "ls a:~/x",
    "ls # hidden",
    "echo a\\ b",
    "echo !!",
    "(ls)",
    "{ ls; }",
    "! ls",
    "A=B ls",
    "LD_PRELOAD=./x.so ls",
    "PATH=. ls",
    "GIT_SSH_COMMAND=x git status",
    "env A=B ls",
    "/usr/bin/env ls",
    "busybox sh",
    "busybox ls",
    "flock /tmp/l ls",
    "nice ls",
    "timeout 5 ls",
    "xargs rm",
    "sudo ls",
    "sh -c ls",
    "sh x.sh",
    "bash",
    "sh -c '$0' rm",
    "eval ls",
    "exec ls",
    "command ls",
    "source x",
    ". x",
    "alias ls=rm",
    "export A=B",
    "if ls",
    "nohup ls",
    "setsid ls",
    "ls 'open",
    'ls "open',
    "ls\u00a0-l",
    "ls \u202egpj.x",
    "ls \u2028 rm",
    "ls " + "x" * MAX_SIMPLE,
]


@pytest.mark.parametrize("command", NOT_SIMPLE, ids=lambda command: repr(command)[:40])
def test_what_a_shell_could_read_otherwise_is_not_simple(command: str) -> None:
    assert simple_argv(command) is None


@pytest.mark.parametrize("command", NOT_SIMPLE, ids=lambda command: repr(command)[:40])
def test_no_pattern_of_words_covers_what_is_not_simple(command: str) -> None:
    patterns = ["ls", "ls*", "ls *", "git status*", "*", "echo*", "cat*", command, f"{command}*"]
    assert [pattern for pattern in patterns if matches(pattern, command)] == []


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ls", ("ls",)),
        ("  git   status  ", ("git", "status")),
        ("grep 'a*b' \"c d\" e", ("grep", "a*b", "c d", "e")),
        ("echo ''", ("echo", "")),
        ("tar --file=x", ("tar", "--file=x")),
        ("ls a~b", ("ls", "a~b")),
        ("python3 main.py", ("python3", "main.py")),
        ("wc 'größe 日本'", ("wc", "größe 日本")),
    ],
)
def test_a_simple_command_is_its_words(command: str, words: tuple[str, ...]) -> None:
    assert simple_argv(command) == words


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git status", "git status"),
        ("git status", "git 'status'"),
        ("git status*", "git status"),
        ("git status *", "git status"),
        ("git status*", "git status -s src"),
        ("git log*", "git log --oneline -5"),
        ("git log*", "git log -- src"),
        ("npm test*", "npm test --silent"),
        ("ls*", "ls -la src"),
        ("grep 'a*'", "grep 'a*'"),
        ("=ls | wc -l", "ls | wc -l"),
        ("=rm *", "rm *"),
        ("python3 main.py", "python3 main.py"),
    ],
)
def test_a_pattern_covers_the_command_it_describes(pattern: str, command: str) -> None:
    assert matches(pattern, command)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git status", "git status -s"),
        ("git status*", "git statusx"),
        ("git status*", "git -c core.pager=x status"),
        ("git status*", "git push"),
        ("git status*", "git status; rm x"),
        ("git log*", "git log --output=/workspace/x"),
        ("git log*", "git log --outp=x"),
        ("git diff*", "git diff --ext-diff"),
        ("git commit*", "git commit -c HEAD"),
        ("npm test*", "npm test -C /elsewhere"),
        ("npm test*", "npm test --prefix /elsewhere"),
        ("cargo test*", "cargo test -Zx"),
        ("cargo test*", "cargo test --manifest-path=/x"),
        ("git*", "git status"),
        ("git push*", "git push origin"),
        ("git*", "git -c alias.x=!id x"),
        ("sort*", "sort --compress-program=./x f"),
        ("sort*", "sort -o f g"),
        ("find*", "find . -name x"),
        ("python3*", "python3 -c x"),
        ("python3.11*", "python3.11 x"),
        ("node*", "node x"),
        ("awk*", "awk x"),
        ("make*", "make x"),
        ("sh*", "sh x"),
        ("env*", "env ls"),
        ("./run.sh*", "./run.sh x"),
        ("/bin/ls*", "/bin/ls x"),
        ("*", "ls"),
        (" *", "ls"),
        ("", "ls"),
        ("=", "ls"),
        ("=ls", "ls "),
        ("=ls\nrm x", "ls\nrm x"),
        ("rm *", "rm *"),
        ("rm *", "rm x"),
        ("l*", "ls"),
        ("git status~*", "git status"),
        ("sqlite3*", "sqlite3 x.db '.shell id'"),
        ("what-is-this*", "what-is-this"),
        ("LS*", "LS x"),
        ("grep 'a*'", "grep 'ab'"),
        ("'git status'*", "git status"),
    ],
)
def test_a_pattern_covers_nothing_beside_it(pattern: str, command: str) -> None:
    assert matches(pattern, command) is False


@pytest.mark.parametrize(
    ("command", "offered"),
    [
        ("git status -s", ("git status -s", "git status*")),
        ("ls -la", ("ls -la", "ls*")),
        ("python3 main.py", ("python3 main.py",)),
        ("./run.sh fast", ("./run.sh fast",)),
        ("make test", ("make test",)),
        ("rm -rf build", ("rm -rf build",)),
        ("git push origin main", ("git push origin main",)),
        ("git log --output=x", ("git log --output=x",)),
        ("rm *", ("=rm *",)),
        ("ls | wc -l", ("=ls | wc -l",)),
        ("sh -c 'ls'", ("=sh -c 'ls'",)),
        ("=x", ("==x",)),
        ("pytest -q", ("pytest -q", "pytest*")),
        ("npm test", ("npm test", "npm test*")),
        ("npm install x", ("npm install x",)),
        ("cargo clippy -q", ("cargo clippy -q", "cargo clippy*")),
        ("sqlite3 x.db .tables", ("sqlite3 x.db .tables",)),
        ("what-is-this -x", ("what-is-this -x",)),
        ("ls\nrm x", ()),
        ("echo " + "x" * MAX_SIMPLE, ()),
        ("", ()),
    ],
)
def test_the_narrowest_grants_are_offered_first(command: str, offered: tuple[str, ...]) -> None:
    assert offers(command) == offered


@given(st.text(alphabet="git status*ls=rm'\"\\$;|&()<>~ \n-c/.\u00e9\u202e", max_size=30))
def test_every_offer_covers_the_command_it_was_made_for(command: str) -> None:
    assert all(matches(offer, command) for offer in offers(command))


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_pattern_of_words_never_covers_what_is_not_simple(pattern: str, command: str) -> None:
    assert pattern.startswith("=") or not matches(pattern, command) or is_simple(command)


@pytest.mark.parametrize(
    ("pattern", "runs"),
    [
        ("ls*", False),
        ("rg -n*", False),
        ("git status*", True),
        ("cargo test *", True),
        ("what-is-this*", True),
        ("./ls*", True),
        ("ls~*", True),
        ("$x*", True),
        ("git status", False),
        ("=git *", False),
    ],
)
def test_an_open_pattern_of_a_program_that_may_run_what_it_finds_is_known_as_one(pattern: str, runs: bool) -> None:
    assert runs_what_it_finds(pattern) is runs


@pytest.mark.parametrize("command", ["shuf -o x", "tree -o x", "sort -o x", "shuf --output=x"])
def test_an_open_pattern_of_a_plain_program_lets_it_write_no_file(command: str) -> None:
    assert not matches(f"{command.split()[0]}*", command)


@pytest.mark.parametrize(
    "subcommand",
    [
        *("git status", "git log", "git diff", "git show", "git blame", "git shortlog", "git describe", "git ls-files"),
        *("git ls-tree", "git rev-parse", "git rev-list", "git add", "git commit", "git cat-file", "git merge-base"),
        *("git name-rev", "git reflog", "git whatchanged", "git count-objects", "npm test", "npm ls", "npm outdated"),
        *("cargo build", "cargo check", "cargo test", "cargo clippy", "cargo fmt"),
    ],
)
def test_a_subcommand_that_is_known_may_have_any_further_words(subcommand: str) -> None:
    assert offers(f"{subcommand} x") == (f"{subcommand} x", f"{subcommand}*")


@pytest.mark.parametrize(
    "program",
    [
        *("pytest", "tox", "nox", "ruff", "mypy", "pyright", "black", "isort", "flake8", "eslint", "prettier", "tsc", "jest"),
        *("vitest", "rspec", "rubocop", "phpunit"),
    ],
)
def test_what_is_run_again_and_again_may_be_granted_and_says_what_it_runs(program: str) -> None:
    assert offers(f"{program} x") == (f"{program} x", f"{program}*")
    assert runs_what_it_finds(f"{program}*")


def test_a_command_as_long_as_may_be_is_read() -> None:
    commands = ["ls " + "x" * (length - 3) for length in (500, 501)]
    assert [is_simple(command) for command in commands] == [True, False]
    assert [bool(offers(command)) for command in commands] == [True, False]


@pytest.mark.parametrize(
    "option",
    [
        *("output", "ext-diff", "textconv", "open-files-in-pager", "upload-pack", "receive-pack", "exec", "config", "config-env"),
        *("pre", "compress-program", "use-compress-program", "checkpoint-action", "to-command", "rsh", "files0-from", "template"),
        *("gpg-sign", "edit", "fixup", "interactive", "manifest-path", "prefix", "userconfig", "globalconfig", "script-shell"),
        *("target-dir", "work-tree", "git-dir", "hostname-bin", "pager"),
    ],
)
def test_an_option_that_runs_loads_or_writes_something_is_never_covered(option: str) -> None:
    assert not any(matches("git log*", f"git log --{option}{more}") for more in ("", "=x", " x"))


@pytest.mark.parametrize(
    "word",
    [
        *("if", "then", "else", "elif", "fi", "do", "done", "while", "until", "for", "case", "esac", "in", "select", "function"),
        *(".", "source", "alias", "unalias", "set", "shopt", "export", "declare", "typeset", "local", "readonly", "unset"),
        *("enable", "hash", "bind", "complete", "let", "read", "mapfile", "readarray", "printf", "getopts", "ulimit", "umask"),
    ],
)
def test_a_word_of_the_shells_own_language_begins_nothing_simple(word: str) -> None:
    assert not is_simple(f"{word} x")
    assert offers(f"{word} x") == (f"={word} x",)


@pytest.mark.parametrize(("command", "words"), [('ls "~"', ("ls", "~")), ("ls é", ("ls", "é")), ("ls ''", ("ls", ""))])
def test_what_looks_odd_and_is_plain_is_read(command: str, words: tuple[str, ...]) -> None:
    assert simple_argv(command) == words
