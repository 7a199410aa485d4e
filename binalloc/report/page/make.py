"""This module makes a page from a template: one file that carries its style, its script and the charting library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binalloc.report.page.library import chart_library, require_page
from binalloc.report.table import cell
from binalloc.version import VERSION

if TYPE_CHECKING:
    from jinja2 import Environment

_PACKAGE = Path(__file__).parents[2]
_OWN = Path(__file__).parent


def make_page(template: str, title: str, values: Mapping[str, Any]) -> bytes:
    """Return a page, in UTF-8.

    Args:
        template: path of the template from `binalloc/report`, such as "recommend/page.html", or from `binalloc`.
        title: heading of the page.
        values: variables of the template.

    Raise UsageError if a package that makes pages is not installed.
    """
    require_page()
    from markupsafe import Markup

    own = {name: Markup((_OWN / file).read_text())
           for name, file in (("style", "style.css"), ("script", "page.js"))}  # fmt: skip
    page = _environment().get_template(template)
    text = page.render(values, title=title, version=VERSION, library=Markup(chart_library()), **own)
    return text.encode(errors="backslashreplace")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader([_OWN.parent, _PACKAGE]), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    made.filters["cell"] = cell
    made.filters["embedded"] = _embedded
    return made


def _embedded(value: Any) -> Any:
    """Return a value as JSON that can stand in a script element, whatever text is in it."""
    from markupsafe import Markup

    text = json.dumps(value, allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
