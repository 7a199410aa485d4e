"""A listener only hears of events."""
