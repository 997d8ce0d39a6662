"""`python -m fencepost`."""

from __future__ import annotations

from fencepost.cli.main import main

main()
