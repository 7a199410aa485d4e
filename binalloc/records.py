"""JSON objects of files are read strictly here: the records of past rewrites in binaries and assembly, and profiles."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


def parse_record(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object in `text`, or in its UTF-8 bytes. Raises ValueError where it is not JSON or no object,
    with the reason. NaN and infinities are not JSON, nor are numbers that overflow to one. Nests too deep for the
    parser count as none."""
    try:
        text = text.decode() if isinstance(text, bytes) else text
        record = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    return record


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _no_number(text)
    return value


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:20]} is no number of JSON")
