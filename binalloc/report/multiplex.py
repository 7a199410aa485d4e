"""This module reports on multiplexed shared memory, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from binalloc.errors import BinallocError
from binalloc.pipeline.multiplex.build import MERGED, NAMED, Built
from binalloc.pipeline.multiplex.multiplexing import SHORTER, Multiplexing, Tried
from binalloc.printable import count
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.multiplex import (
        ChosenVersionJson,
        MultiplexedVersionJson,
        MultiplexingJson,
        MultiplexJson,
        SchemeJson,
    )


def multiplexing_json(found: Multiplexing, output: str | None, names: Mapping[str, str]) -> MultiplexingJson:
    """Return a comparison as JSON. output: the file that a version was written to. names: how parameters are spelled in
    reasons (`Hint.spelled`)."""
    original = found.original
    assert original.cycles is not None
    out: MultiplexingJson = {
        "original": {
            "version": original.name,
            "registers": original.registers,
            "shared_bytes": original.shared_bytes,
            "blocks_per_sm": original.blocks_per_sm,
            "limits": list(original.limiters),
            "cycles": original.cycles,
        },
        "schemes": [_scheme(found, each, names) for each in found.tried],
        "output": output,
    }
    if found.shorter is not None:
        out["shorter"] = _scheme(found, found.shorter, names)
    if isinstance(found.share, BinallocError):
        out["region_share"], out["region_share_refused"] = None, found.share.text(names)
    elif found.share is not None:
        out["region_share"], out["region_share_refused"] = round(found.share, 4), None
    return out


def chosen_json(found: Multiplexing, best: Tried | None) -> ChosenVersionJson:
    """Return a choice (`Multiplexing.chosen`) as JSON. best: None for the original."""
    if best is None:
        return {
            "scheme": "original",
            "merge": None,
            "barriers": None,
            "over": None,
            "shorter_regions": False,
            "speedup": 1.0,
        }
    wanted, speedup = best.wanted, found.speedup(best)
    assert speedup is not None
    return {
        "scheme": wanted.scheme,
        "merge": wanted.merge,
        "barriers": wanted.barriers if wanted.scheme in MERGED else None,
        "over": wanted.over,
        "shorter_regions": wanted.shorter,
        "speedup": round(speedup, 4),
    }


def _scheme(found: Multiplexing, tried: Tried, names: Mapping[str, str]) -> SchemeJson:
    wanted, version, speedup = tried.wanted, tried.version, found.speedup(tried)
    out: SchemeJson = {
        "scheme": wanted.scheme,
        "merge": wanted.merge,
        "barriers": wanted.barriers if wanted.scheme in MERGED else None,
        "over": wanted.over,
        "shorter_regions": wanted.shorter,
        "refused": None if tried.refused is None else tried.refused.text(names),
    }
    if version is not None and version.cycles is not None and speedup is not None:
        out["registers"] = version.registers
        out["slots"] = version.slots
        out["shared_bytes"] = version.shared_bytes
        out["blocks_per_sm"] = version.blocks_per_sm
        if tried.built is not None:
            _add_division(out, tried.built)
        out["cycles"] = version.cycles
        out["speedup"] = round(speedup, 4)
        out["same_results"] = tried.same
        out["proven"] = not tried.unproven
        out["unproven"] = tried.unproven or None
    return out


def _add_division(out: SchemeJson, built: Built) -> None:
    """Add how shared memory was divided."""
    out["regions"] = built.regions
    if built.private is not None and built.public is not None:
        out["private_bytes"], out["public_bytes"] = built.private, built.public
    if out["scheme"].startswith("co-"):
        out["divided"] = [{"name": v.name, "private_bytes": v.private, "bytes": v.bytes} for v in built.variables]


def render_multiplexing(found: MultiplexJson) -> str:
    """Return a comparison as text; its first line is the answer."""
    ran = [each for each in found["schemes"] if "speedup" in each]
    alone = found.get("shorter")
    original, limits = found["original"], " and ".join(found["original"]["limits"])
    out = f"{found['kernel']}: {_answer(found, ran)}\n"
    how = "" if original["version"] == "the original" else f" ({original['version']})"
    out += f"The original{how} has {count(original['blocks_per_sm'], 'block')} per SM, limited by {limits}: "
    out += f"{original['cycles']:,} cycles.\n\n"
    if "region_share" in found:
        out = f"{out.rstrip()}\n{_share(found['region_share'], found.get('region_share_refused'))}\n\n"
    if ran:
        shown: list[MultiplexedVersionJson] = [*([alone] if alone is not None and "speedup" in alone else []), *ran]
        rows = [_row(each) for each in shown]
        head = ["version", "speedup", "cycles", "registers", "slots", "bytes", "blocks", "results", "proof"]
        out += table(head, rows, left=1) + "\n"
    for each in ran:
        if "divided" in each:
            out += f"{_named(each)}: {_division(each)}\n"
    every: list[MultiplexedVersionJson] = [*([alone] if alone is not None else []), *found["schemes"]]
    for one in every:
        if one["refused"] is not None:
            out += f"No {_named(one)}: {one['refused']}\n"
    for one in every:
        if "unproven" in one and one["unproven"] is not None:
            out += f"No proof of {_named(one)}: {one['unproven']}\n"
    return out + ("" if found["output"] else "No file was written (-o FILE).\n")


def _share(share: float | None, refused: str | None) -> str:
    """Return for which part of a block's life its shared memory is in use."""
    if share is None:
        return f"For which part of a block's life its shared memory is in use cannot be measured: {refused}"
    return f"Its shared memory is in use for {share:.1%} of a block's life."


def _answer(found: MultiplexJson, ran: list[SchemeJson]) -> str:
    chosen = found.get("chosen")
    if chosen is not None and chosen["scheme"] == "original":
        return f"chosen is the original; no proven version of it is faster on {found['machine']}, emulated"
    if chosen is not None:
        return f"chosen is {_named(chosen)}, {chosen['speedup']:.3f} times as fast on {found['machine']}, emulated"
    best = max(ran, key=lambda each: each["speedup"], default=None)
    if best is None:
        return "no version that uses its shared memory in turns could be built and run"
    gained = "" if best["speedup"] > 1 else "nothing gained; best "
    return f"{gained}{_named(best)} is {best['speedup']:.3f} times as fast on {found['machine']}, emulated"


def _named(each: MultiplexedVersionJson | ChosenVersionJson) -> str:
    if each["scheme"] == SHORTER:
        return "shorter regions alone"
    name = each["scheme"]
    if each["merge"] is not None:
        name += f" of {each['merge']}" + (", named barriers" if each["barriers"] == NAMED else "")
    elif each["over"] is not None:
        name += f" with {each['over']} more"
    return name + (", shorter regions" if each["shorter_regions"] else "")


def _division(each: SchemeJson) -> str:
    """Return how shared memory was divided."""
    whose = "each virtual block" if each["merge"] is not None else "each block"
    variables = ", ".join(
        v["name"] + (f" up to byte {v['private_bytes']:,} of {v['bytes']:,}" if v["private_bytes"] < v["bytes"] else "")
        for v in each["divided"]
    )  # fmt: skip
    private, public = each["private_bytes"], each["public_bytes"]
    return f"{private:,} bytes private for {whose}, {public:,} in turns; private: {variables}"


def _row(each: MultiplexedVersionJson) -> tuple[object, ...]:
    same = {True: "the same", False: "DIFFERENT", None: "not compared"}[each["same_results"]]
    figures = each["cycles"], each["registers"], each["slots"], each["shared_bytes"], each["blocks_per_sm"]
    return _named(each), f"{each['speedup']:.3f}", *figures, same, "proven" if each["proven"] else "none"
