"""No framework is imported before somebody asks for it, and one that is missing is named."""

from __future__ import annotations

import subprocess
import sys

import pytest


def said(program: str) -> str:
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    return ended.stdout + ended.stderr


def test_a_project_without_django_is_told_what_to_install() -> None:
    words = said("import sys; sys.modules['django'] = None; import fencepost.contrib.django").splitlines()
    assert words[-1].endswith("MissingExtra: fencepost.contrib.django needs Django; run: pip install django")


def test_a_host_without_the_web_is_told_what_to_install() -> None:
    words = said("import sys; sys.modules['litestar'] = None; import fencepost.contrib.asgi").splitlines()
    assert words[-1].endswith('fencepost.contrib.asgi needs the extra: pip install "fencepost[web]"')


@pytest.mark.parametrize("module", ["contrib.asgi", "contrib.fastapi", "contrib.sqlalchemy", "guards", "app"])
def test_nobody_elses_package_is_imported(module: str) -> None:
    others = "('fastapi', 'starlette', 'sqlalchemy', 'django', 'redis', 'psycopg', 'asyncpg')"
    program = f"import sys, fencepost.{module}; print([one for one in {others} if one in sys.modules])"
    assert said(program).strip() == "[]"
