"""From a function with its webs to virtual-register code.

Needs: a normalised function (no guarded calls), its CFG, webs and the contracts of its callees. Leaves: virtual code in
which every web is a value, groups keep aligned operands together, and each call stands between copies that move the
callee's arguments into, and its results out of, the registers its contract names.
"""

from __future__ import annotations

from collections.abc import Mapping

from binalloc.transform.vcode import VCode  # noqa: F401  (filled in below)
