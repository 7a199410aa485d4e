"""This module keeps the outcomes of tasks on disk, by their keys, so that a finished task is not done again.

Each outcome is one file, written whole or not at all, so that a process may be killed at any moment. The first line of
the file is the hash of the rest. A damaged file is set aside with a message in the log, and its task is done again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from binalloc.errors import UsageError
from binalloc.files import write_atomically
from binalloc.records import parse_record

_LOG = logging.getLogger(__name__)
_VERSION = 1  # of the files; a file of another version does not count
Outcome = dict[str, Any]
"""The outcome of a task, as values that JSON can hold. It always has `status` and `reason`; see `tasks`."""


class Cache:
    """A cache keeps outcomes in a folder of its own. Several processes may share it."""

    def __init__(self, folder: Path) -> None:
        """Make the folder if it is missing. Raises UsageError if it cannot be made."""
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError("cannot make the folder", file=str(folder), found=error.strerror) from error

    def get(self, key: str) -> Outcome | None:
        """Return the outcome kept under a key; None if there is none. Raises UsageError if it cannot be read."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError("cannot read the file", file=str(path), found=error.strerror) from error
        try:
            return _outcome(data, key)
        except ValueError as error:
            aside = path.with_suffix(".damaged")
            with suppress(OSError):
                os.replace(path, aside)
            _LOG.info("%s is damaged (%s): set aside as %s, and done again", path, error, aside.name)
            return None

    def put(self, key: str, outcome: Outcome) -> None:
        """Keep an outcome under its key. Raises UsageError if it cannot be written."""
        body = json.dumps({"schema_version": _VERSION, "key": key, "outcome": outcome}, sort_keys=True).encode()
        with suppress(OSError):  # the write itself reports what is wrong
            self._path(key).parent.mkdir(exist_ok=True)
        write_atomically(self._path(key), hashlib.sha256(body).hexdigest().encode() + b"\n" + body)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"


def _outcome(data: bytes, key: str) -> Outcome:
    """Return the outcome that `put` wrote. Raises ValueError, with the reason, for any other bytes."""
    digest, _, body = data.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError("its checksum is another")
    record = parse_record(body)
    if record.get("schema_version") != _VERSION:
        raise ValueError("it is of another version")
    if record.get("key") != key or not isinstance(record.get("outcome"), dict):
        raise ValueError("it is of another run")
    outcome: Outcome = record["outcome"]
    return outcome
