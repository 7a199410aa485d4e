"""This module has the size of the longest DRAM log, apart from the code that needs NumPy, so that `--help` is fast."""

from __future__ import annotations

DEFAULT_LIMIT = 1 << 28
"""Bytes of all files together: some millions of requests, about what other tools take in minutes."""
