"""`python -m scripts.site`, the second half of `make docs`."""

from __future__ import annotations

import sys

from scripts.site.build import SITE, built, undocumented_told
from scripts.site.pages import ROOT
from scripts.site.staging import STAGE, Staging


def main() -> int:
    """Build the whole site, or say what is wrong."""
    if undocumented_told():
        return 1
    Staging().run()
    if not built(STAGE, SITE):
        return 1
    print(f"wrote {SITE.relative_to(ROOT)}: {len(list(SITE.rglob('*.html')))} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
