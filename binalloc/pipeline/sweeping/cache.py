"""Outcomes of tasks on disk, by their keys: what was finished once is not done again.

Each outcome is one file, written whole or not at all, so that a process may be killed at any moment; its first line is
the hash of the rest. A file that is not as it was written is set aside, told of, and does not count.
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
_VERSION = 1
Outcome = dict[str, Any]
"""What came of a task, as JSON can hold it; `status` and `reason` are always there, see `tasks`."""


class Cache:
    """Outcomes in a folder of its own, which is made where it is missing. Several processes may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError("cannot make the folder", file=str(folder), found=error.strerror) from error

    def get(self, key: str) -> Outcome | None:
        """The outcome kept under that key, None where there is none."""
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
        """Keep it. Raises UsageError where it cannot be written."""
        body = json.dumps({"schema_version": _VERSION, "key": key, "outcome": outcome}, sort_keys=True).encode()
        with suppress(OSError):  # what is wrong the write itself tells
            self._path(key).parent.mkdir(exist_ok=True)
        write_atomically(self._path(key), hashlib.sha256(body).hexdigest().encode() + b"\n" + body)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"


def _outcome(data: bytes, key: str) -> Outcome:
    """What `put` wrote. ValueError that says what is wrong where it did not write this."""
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
