"""The charting library that a page carries: Vega, Vega-Lite and vega-embed as one script, from the package vl-convert.

It takes seconds to put together and is the same each time, so it is kept beside the emulator's compiled code, by the
package's version; a file that is not what was written there is put together again.
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
"""Of the hash that a kept file begins with."""


def require_page() -> None:
    """UsageError where nothing is installed that makes pages."""
    for name in _PACKAGES:
        try:
            version(name)
        except PackageNotFoundError as error:
            raise UsageError(
                f"{name} is not installed, which pages are made with", remedy="Install binalloc[html]."
            ) from error


def chart_library() -> str:
    """JavaScript that leaves `vegaEmbed` in the page. Needs `require_page`."""
    folder = cache_folder("page")
    kept = None if folder is None else folder / f"vega-{version(_PACKAGES[1])}.js"
    found = None if kept is None else _read(kept)
    if found is None:
        found = _made()
        if kept is not None:
            write_atomically(kept, f"{_hash(found)}\n{found}".encode())
    return found


def _made() -> str:
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _read(kept: Path) -> str | None:
    """What is in the file; None if it is missing or damaged."""
    try:
        text = kept.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None
    digest, body = text[:_DIGITS], text[_DIGITS + 1 :]
    return body if digest == _hash(body) else None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
