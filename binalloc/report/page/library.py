"""This module gives the charting library of a page: Vega, Vega-Lite and vega-embed as one script, from vl-convert.

To bundle the script takes seconds, and it is the same each time. So it is kept beside the emulator's compiled code, by
the version of the package. A kept file that was damaged or changed since is bundled again.
"""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from binalloc.emulator.host.engines.cache import cache_folder
from binalloc.errors import UsageError
from binalloc.files import write_atomically

_PACKAGES = ("jinja2", "vl-convert-python")
_DIGITS = 64
"""Digits of the hash at the beginning of a kept file: SHA-256 in hexadecimal."""


def require_page() -> None:
    """Raise UsageError if a package that makes pages is not installed."""
    for name in _PACKAGES:
        try:
            version(name)
        except PackageNotFoundError as error:
            raise UsageError(
                f"{name} is not installed, which pages are made with", remedy="Install binalloc[html]."
            ) from error


def chart_library() -> str:
    """Return a script that defines `vegaEmbed` in the page. Precondition: `require_page` has not raised an error."""
    folder = cache_folder("page")
    kept = None if folder is None else folder / f"vega-{version(_PACKAGES[1])}.js"
    found = None if kept is None else _read(kept)
    if found is None:
        found = _bundled()
        if kept is not None:
            write_atomically(kept, f"{_hash(found)}\n{found}".encode())
    return found


def _bundled() -> str:
    """Return the script, made so that it can stand in an HTML element."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _read(kept: Path) -> str | None:
    """Return the script in a kept file; None if the file is missing or damaged."""
    try:
        text = kept.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None
    digest, body = text[:_DIGITS], text[_DIGITS + 1 :]
    return body if digest == _hash(body) else None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
