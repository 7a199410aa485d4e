"""This module names the versions that a request may ask for whose blocks use shared memory in turns."""

from __future__ import annotations

OFF, TODAY, ANY = "off", "today", "any"
MULTIPLEX = {
    OFF: "none",
    TODAY: "those that today's GPUs could run",
    ANY: "also those with instructions that no GPU has",
}
"""What is tried, by name."""
