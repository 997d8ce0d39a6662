"""A manifest that is too large or too deep is refused in one line, before it costs anything."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from fencepost.errors import UsageError
from fencepost.manifest.reading import BYTES_MAX, DEPTH_MAX, read_toml
from tests.cli.calls import call

DEEP = 5_000
HOSTILE = {
    "a long dotted key": "a." * DEEP + "a = 1",
    "a long dotted key with blanks": "a . " * DEEP + "a = 1",
    "a long dotted key of quoted parts": '"a".' * DEEP + '"a" = 1',
    "a deep table": "[" + "a." * DEEP + "a]",
    "a deep array": "a = " + "[" * DEEP,
    "a deep array over many lines": "a = " + "[\n" * DEEP,
    "deep inline tables": "a = " + "{a = " * DEEP,
    "behind a text that ends in more quotes than it needs": 'b = """x""""\n' + "a." * DEEP + "a = 1",
    "behind a literal text of that kind": "b = '''x'''''\n" + "a." * DEEP + "a = 1",
    "behind a comment with a quote": "# don't\n" + "a." * DEEP + "a = 1",
    "behind an escaped quote": 'b = "\\""\n' + "a." * DEEP + "a = 1",
}
HARMLESS = [
    'a = "' + "[" * 500 + '"',
    "a = '" + "." * 500 + "'",
    'a = """\n' + "[.{" * 500 + '"""',
    "a = '''" + "[.{\n" * 500 + "'''''",
    "# " + "[.{" * 500,
    "a = [" + "1.5, " * 500 + "]",
    "\n".join(f"[t{n}]\nx.y.z = [[1.0], {{a = 2.5}}]" for n in range(500)),
    'a = "\\\\"\nb = "\\""\nc = """"x"""" # "',
]


def written(folder: Path, text: str) -> Path:
    path = folder / "fencepost.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_is_too_deep_is_not_parsed(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tomllib, "loads", lambda _: pytest.fail("it was parsed"))
    with pytest.raises(UsageError, match=f"line [0-9]+: nested deeper than {DEPTH_MAX} levels"):
        read_toml(written(tmp_path, text))


@pytest.mark.parametrize("text", HARMLESS, ids=range(len(HARMLESS)))
def test_what_only_looks_deep_is_read(text: str, tmp_path: Path) -> None:
    assert read_toml(written(tmp_path, text)) == tomllib.loads(text)


def test_what_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = written(tmp_path, "")
    os.truncate(path, 2**40)
    with pytest.raises(UsageError, match=f"longer than {BYTES_MAX} bytes"):
        read_toml(path)


def test_a_device_is_not_read() -> None:
    with pytest.raises(UsageError, match="/dev/zero: cannot be read: it is not a file"):
        read_toml(Path("/dev/zero"))


@pytest.mark.parametrize(
    "text",
    [HOSTILE["a deep array"], HOSTILE["a long dotted key"], "a = " + "1" * 5_000, 'a = "', "a = '''", "= 1"],
)
def test_a_command_says_it_in_one_line(text: str, tmp_path: Path) -> None:
    result = call("doctor", str(written(tmp_path, text)))
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "fencepost.toml: " in result.stderr
