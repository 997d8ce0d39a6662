"""TARGET: from `module:app` or a `.toml` file to an application."""

from __future__ import annotations

import importlib
import sys
import traceback
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from fencepost.app import Fencepost
from fencepost.errors import UsageError
from fencepost.manifest import load

EXPECTED = "expected module:app or a .toml file"


def load_target(target: str) -> Fencepost:
    """The application; modules are looked for in the current folder first."""
    if target.endswith(".toml"):
        return load(target)
    name, colon, attribute = target.partition(":")
    if not name or not colon or not attribute or name.startswith("."):
        raise UsageError(f"target {target}: {EXPECTED}{_hint(target)}")
    return _application(target, _module(target, name), attribute)


def _hint(target: str) -> str:
    stem, dot, _ = target.partition(".py")
    return f"; did you mean {stem.replace('/', '.')}:app?" if dot and stem else ""


def _module(target: str, name: str) -> ModuleType:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except UsageError as error:
        raise type(error)(f"target {target}: {error}") from None
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise UsageError(f"target {target}: {error}{_where(error)}; is it installed?") from None
        raise UsageError(f"target {target}: no module {error.name} in {folder}{_hint(name)}") from None
    except Exception as error:
        raise UsageError(f"target {target}: {type(error).__name__}: {error}{_where(error)}") from None


def _where(error: Exception) -> str:
    """The last line that ran, so that one line is enough to find the fault."""
    if isinstance(error, SyntaxError):
        return ""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return "" if frame.filename.startswith("<") else f" ({frame.filename}, line {frame.lineno})"


def _application(target: str, module: ModuleType, attribute: str) -> Fencepost:
    found: object = module
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if isinstance(found, Fencepost):
        return found
    known = [name for name, value in vars(module).items() if isinstance(value, Fencepost)]
    near = get_close_matches(attribute, known, n=1) or known[:1]
    hint = f"; did you mean {module.__name__}:{near[0]}?" if near else "; it holds no Fencepost()"
    raise UsageError(f"target {target}: {attribute} is no Fencepost application{hint}")
