"""A page from a template: one file that carries its style, its script and the charting library."""

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


def make_page(template: str, title: str, told: Mapping[str, Any]) -> bytes:
    """The page of a template in `report`, as "recommend/page.html", or elsewhere in the package. told: what it is
    filled with. Raises UsageError where what makes pages is not installed."""
    require_page()
    from markupsafe import Markup

    own = {name: Markup((_OWN / file).read_text())
           for name, file in (("style", "style.css"), ("script", "page.js"))}  # fmt: skip
    page = _environment().get_template(template)
    text = page.render(told, title=title, version=VERSION, library=Markup(chart_library()), **own)
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
    """As JSON that can stand in a script element, whatever is in it."""
    from markupsafe import Markup

    text = json.dumps(value, allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
