"""The reference page of the settings, from `config.py` and what it says beside each of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from fencepost import config
from fencepost.config import Settings
from fencepost.model.variables import OF_COMMANDS, OF_RUNS, PREFIX

PREAMBLE = f"""A setting is a line of `[settings]` in `fencepost.toml` with the name in small letters and
without `{PREFIX}`, or a variable of the environment, or a word of `Fencepost(…)`; the last of these that
says something counts. Seconds also take a length of time, as in `5m` or `1h30m`. A variable that begins with
`{PREFIX}` and is not on this page is refused, but for `{PREFIX}TEST_…`, which only tests read, and what
Kubernetes sets for services."""


def settings_page(generated: str) -> str:
    """Every variable, what it says, and what counts without it."""
    commands = (f"| `{PREFIX}{name}` | {meaning} |" for name, meaning in OF_COMMANDS.items())
    parts = [
        f"# Settings\n\n{generated}\n\n{PREAMBLE}\n",
        "| variable | default | what it says |\n| --- | --- | --- |",
        *(f"| `{PREFIX}{name.upper()}` | {_default(name)} | {meaning} |" for name, meaning in meanings()),
        "\nOnly commands read these:\n",
        "| variable | what it says |\n| --- | --- |",
        *commands,
        "\nA command that is a job is told of its run ([kinds of work](../guides/kinds-of-work.md)): "
        + ", ".join(f"`{PREFIX}{name}`" for name in OF_RUNS)
        + ".\n",
    ]
    return "\n".join(parts)


def meanings() -> Iterator[tuple[str, str]]:
    """Each setting with the text that follows it in the code."""
    tree = ast.parse(Path(config.__file__).read_text("utf-8"))
    body = next(one.body for one in tree.body if isinstance(one, ast.ClassDef) and one.name == "Settings")
    for field, text in zip(body, [*body[1:], None], strict=True):
        name = (
            field.target.id if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) else ""
        )
        if name in config.setting_names():
            said = ast.literal_eval(text.value) if isinstance(text, ast.Expr) else ""
            yield name, " ".join(said.split())


def _default(name: str) -> str:
    """The default as one would write it; that of processes is the machine's."""
    value = getattr(Settings(), name)
    if name == "processes":
        return "one for each processor"
    told = ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()
    return f"`{told}`" if told else ""
