"""A launch file for a kernel that has none: what its code tells of its arguments, and sizes that go together."""
