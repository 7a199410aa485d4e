"""Who only hears of events."""
