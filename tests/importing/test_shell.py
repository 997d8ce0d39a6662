"""Which commands mean the same without a shell."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.importing.names import Names, program_name, slug
from fencepost.importing.shell import Broken, NeedsShell, read_words, split_stdin, with_stdin

SAID = "import sys; print(ascii(sys.argv[1:]))"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/usr/bin/backup", ("/usr/bin/backup",)),
        ("backup --all -v", ("backup", "--all", "-v")),
        ("  backup \t x  ", ("backup", "x")),
        ("backup 'a b' \"c d\"", ("backup", "a b", "c d")),
        ("backup a'b'\"c\"d", ("backup", "abcd")),
        ("backup '' \"\"", ("backup", "", "")),
        ("backup '$HOME `x` \\n * '", ("backup", "$HOME `x` \\n * ")),
        ("backup --name=x y=1 user@host:/p,q +%F", ("backup", "--name=x", "y=1", "user@host:/p,q", "+%F")),
        ("grüße Österreich", ("grüße", "Österreich")),
        ("echo hello", ("echo", "hello")),
    ],
)
def test_plain_words_need_no_shell(command: str, words: tuple[str, ...]) -> None:
    assert read_words(command) == words


@pytest.mark.parametrize(
    "command",
    [
        *("a | b", "a && b", "a; b", "a &", "a > f", "a < f", "a 2>&1", "(a)", "{ a; }", "! a", "a #b"),
        *("a $HOME", 'a "$HOME"', "a `b`", 'a "`b`"', 'a "x\\"y"', "a \\ b", "a ~", "a ~user", "a x=~"),
        *("a *.log", "a ?", "a [ab]", "a {b,c}", "a =b", "FOO=1 a", "FOO+=1 a"),
        *("cd /srv", ". ./env", "exec a", "if a", "export A", "umask 022", "echo -n a", "echo 'a\\nb'"),
        *("a\rb", "a\x0bb", "a\u00a0b"),
    ],
)
def test_what_a_shell_would_change_keeps_its_shell(command: str) -> None:
    assert isinstance(read_words(command), NeedsShell)


@pytest.mark.parametrize("command", ["a 'b", 'a "b', "a b'", "", "   ", "''"])
def test_what_no_shell_can_run_is_broken(command: str) -> None:
    assert isinstance(read_words(command), Broken)


@pytest.mark.parametrize("arguments", ["a 'b c' \"d\" e'f'g", "'' x=1 +%F '\\n' a,b:c@d", "'$x' \"'\" '\"'"])
def test_a_shell_reads_plain_words_as_we_do(arguments: str) -> None:
    command = f"python3 -c '{SAID}' {arguments}"
    words = read_words(command)
    assert isinstance(words, tuple)
    by_shell = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True)
    assert by_shell.stdout == subprocess.run(words, capture_output=True, check=True).stdout


@pytest.mark.parametrize(
    ("text", "command", "stdin"),
    [
        ("a", "a", None),
        (r"date +\%F", "date +%F", None),
        ("a%", "a", ""),
        ("a%b", "a", "b\n"),
        ("a%b%c", "a", "b\nc\n"),
        ("a%b%", "a", "b\n"),
        ("a%%", "a", "\n"),
        (r"a%b\%c\d", "a", "b%c\\d\n"),
        (r"a \\%b%c", r"a \%b", "c\n"),
    ],
)
def test_a_percent_begins_the_input(text: str, command: str, stdin: str | None) -> None:
    assert split_stdin(text) == (command, stdin)


@pytest.mark.parametrize("stdin", ["b\n", "\n", "END\nEND1\n", "$HOME `x` 'q' \\\n", "ends\n\n"])
def test_a_here_document_gives_exactly_the_input(stdin: str) -> None:
    script = with_stdin("cat -", stdin)
    done = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, check=True, stdin=subprocess.DEVNULL
    )
    assert done.stdout.decode() == stdin


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("/usr/local/bin/backup --all", "backup"),
        ("backup.sh", "backup"),
        ("cd /srv && ./report.py >> log", "report"),
        ("[ -x /usr/sbin/anacron ] || ( cd / && run-parts --report /etc/cron.daily )", "run-parts"),
        ("FOO=1 nice -n 10 /opt/rotate", "rotate"),
        ("/usr/bin/python3 -m shop.tasks", "shop-tasks"),
        ("bash /opt/a/b.sh", "b"),
        ("php /srv/artisan schedule:run", "artisan"),
        ("bash -c 'x'", "bash"),
        ("'/opt/my tool' x", "my"),
        ("../..", "job"),
        ("", "job"),
        ("日本", "job"),
    ],
)
def test_a_command_is_called_after_its_program(command: str, name: str) -> None:
    assert program_name(command) == name


def test_no_two_things_have_one_name() -> None:
    names = Names()
    assert [names.unique(one) for one in ("a", "a-2", "a", "a", "a-2")] == ["a", "a-2", "a-3", "a-4", "a-2-2"]


@given(st.text())
def test_any_text_gives_a_name(text: str) -> None:
    for name in (slug(text), program_name(text)):
        assert 1 <= len(name) <= 60
        assert name.isascii()
        assert name[0].isalnum() or name[0] == "_"
    read_words(text)
    split_stdin(text)
