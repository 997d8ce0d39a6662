"""Groups of commands: their help is not cut, and a command that is not there is answered with one that is."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

OPTIONS = {"help": "--help", "version": "--version"}
UNCUT = 1_000
SUMMARIES = Path(__file__).with_name("summaries.txt")
"""What each command does, in a sentence: help that loads none of them."""
MEANT = {
    **dict.fromkeys(("retry", "rerun", "requeue"), ("replay",)),
    **dict.fromkeys(("delete", "rm"), ("remove", "revoke")),
    **dict.fromkeys(("kill", "stop", "abort"), ("cancel",)),
    **dict.fromkeys(("serve", "dashboard", "ui"), ("web",)),
    **dict.fromkeys(("delay", "send"), ("enqueue",)),
    **dict.fromkeys(("unpause", "enable"), ("resume",)),
    "disable": ("pause",),
    "create": ("add", "create"),
    "unfreeze": ("thaw",),
    "start": ("run",),
    "beat": ("scheduler",),
}
"""What other schedulers call it."""


class CommandGroup(click.Group):
    """A group that says what each of its commands does in one whole sentence."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click's own, which cuts each sentence at the end of the line."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(path, said) for path, said in self.summaries(ctx).items() if " " not in path]
            )

    def summaries(self, ctx: click.Context) -> dict[str, str]:
        """What each command below this group does, by its path, in a sentence."""
        return self.loaded_summaries(ctx)

    def loaded_summaries(self, ctx: click.Context) -> dict[str, str]:
        """The same, as the commands themselves say it."""
        found: dict[str, str] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is None or command.hidden:
                continue
            found[name] = command.get_short_help_str(UNCUT)
            if isinstance(command, CommandGroup):
                found |= {f"{name} {path}": said for path, said in command.loaded_summaries(ctx).items()}
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's own, with a better hint."""
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand:
            self._refuse(ctx, args[0])

    def _refuse(self, ctx: click.Context, word: str) -> NoReturn:
        near = list(self._near(ctx, word))
        if not near:
            raise click.UsageError(f"No such command {word!r}", ctx)
        *others, last = (f"{ctx.find_root().command_path} {one}" for one in near)
        said = f"{', '.join(others)} or {last}" if others else last
        raise click.UsageError(f"No such command {word!r}; did you mean {said}?", ctx)

    def _near(self, ctx: click.Context, word: str) -> list[str]:
        """What the word may have meant, as it is written behind `fencepost`: the same verb somewhere else,
        or else a name that looks like it."""
        root = ctx.find_root()
        if ctx is root and word in OPTIONS:
            return [OPTIONS[word]]
        assert isinstance(root.command, CommandGroup)
        verbs = MEANT.get(word, (word,))
        elsewhere = [path for path in root.command.summaries(root) if path.split()[-1] in verbs]
        own = "" if ctx is root else f"{ctx.info_name} "
        here = [path for path in elsewhere if own and path.startswith(own)]
        near = [f"{own}{name}" for name in get_close_matches(word, self.list_commands(ctx))]
        return here or (near if own and word in MEANT else elsewhere or near)


class LazyGroup(CommandGroup):
    """A group that loads the module of a command when it is called. `homes` says in which module of the
    command line each is, and its name there."""

    def __init__(self, *args: Any, homes: Mapping[str, str], **terms: Any) -> None:
        super().__init__(*args, **terms)
        self._homes = homes

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All there are."""
        return sorted({*self.commands, *self._homes})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, loaded now."""
        if cmd_name not in self._homes:
            return super().get_command(ctx, cmd_name)
        module, _, name = self._homes[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"fencepost.cli.{module}"), name)
        return command


class Noun(LazyGroup):
    """The verbs of a noun, which stand in a module of the command line; it is loaded when one is called."""

    def __init__(self, *args: Any, module: str, homes: Mapping[str, str] | None = None, **terms: Any) -> None:
        super().__init__(*args, homes=homes or {}, **terms)
        self._module = module

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All there are."""
        self._load()
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, loaded now."""
        if cmd_name not in self._homes:
            self._load()
        return super().get_command(ctx, cmd_name)

    def summaries(self, ctx: click.Context) -> dict[str, str]:
        """As `make docs` wrote them."""
        start = f"{self.name} "
        return {
            path.removeprefix(start): said
            for path, said in written_summaries().items()
            if path.startswith(start)
        }

    def _load(self) -> None:
        import_module(f"fencepost.cli.{self._module}")


def written_summaries() -> dict[str, str]:
    """What each command does, as `make docs` wrote it."""
    return dict(line.split("\t") for line in SUMMARIES.read_text("utf-8").splitlines())
