"""Business days: named calendars, and the triggers that keep to them."""
