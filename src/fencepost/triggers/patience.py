"""How long a search for a fire time goes on before it is given up.

What never fires cannot always be told from what fires rarely, so a search is bounded twice. It takes so many
looks and no more; and it looks through `HORIZON` of time, from its first look on. 29 February on a given
weekday can be 40 years away, which is within. Where there is little to look at in so long a time, `LOOKS_MIN`
are taken at any rate, however far they lead: they cost next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

HORIZON_YEARS = 50
HORIZON = timedelta(days=365.25 * HORIZON_YEARS)
LOOKS_MIN = 100

# Who asks for people looks so many times longer than a planner, who can go on from where it was cut.
PATIENCE = 11

# And for a list of fire times so many times longer again, not for each of them.
LIST_PATIENCE = 3


@dataclass(slots=True)
class Looks:
    """The looks of one search: how many it may take, how many there were, and where the first one was."""

    most: int
    taken: int = 0
    first: datetime | None = None

    def go_on(self, moment: datetime) -> bool:
        """Whether another look may follow the fruitless one at that moment."""
        if self.first is None:
            self.first = moment
        self.taken += 1
        is_near = self.taken < LOOKS_MIN or abs(moment - self.first) < HORIZON
        return self.taken < self.most and is_near
