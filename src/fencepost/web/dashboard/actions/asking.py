"""What is asked about before it is done: what nobody can take back, or what touches many things at once."""

from __future__ import annotations

from collections.abc import Mapping

QUESTIONS: Mapping[str, str] = {
    "schedules.remove": "It plans no more, and what is planned is withdrawn. Its history stays.",
    "runs.cancel": "A run that waits ends as cancelled; one that runs is asked to stop.",
    "runs.skip": "The run ends as skipped, and nobody starts it.",
    "schedules.skip": "The tick ends as skipped, and nobody starts it.",
    "dead.replay": "Dead letters are sent on their way again, under their own keys.",
    "runs.cancel_many": "Runs that wait end as cancelled; those that run are asked to stop.",
    "gates.open": "All that the gate holds runs.",
    "gates.latest": "The newest tick that the gate holds runs; the others are missed.",
    "gates.drop": "All that the gate holds is missed, for the reason that you give.",
    "backfills.cancel": "What of it waits is called off; what runs is let finish.",
    "freezes.freeze": "Nothing of it is started until somebody thaws it. Ticks go on being accounted for.",
    "queues.pause": "Nothing of the queue is started until it is resumed.",
    "nodes.drain": "The node plans nothing and starts nothing more, and hands over what it leads.",
    "shards.reshard": "All schedules are cut into another number of shards, while nodes run.",
    "tokens.revoke": "Whoever uses the token is turned away at once, and its sessions end.",
    "tokens.rotate": "A new token takes its place; the old one ends.",
    "sessions.end": "Whoever uses the session is signed out.",
    "notify.remove": "Messages are no longer sent there.",
    "calendars.remove": "Schedules that use the calendar keep the days they have.",
}
"""By the name of the operation: what it means to go on."""
