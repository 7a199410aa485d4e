"""This module reports on multiplexed shared memory, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from binalloc.errors import BinallocError
from binalloc.launch.merged import GRID
from binalloc.pipeline.multiplex.build import BLOCK, MERGED, Built, Wanted
from binalloc.pipeline.multiplex.choice import Turns
from binalloc.pipeline.multiplex.multiplexing import Multiplexing, Tried
from binalloc.pipeline.multiplex.timeline import Mark, Shown, timelines
from binalloc.pipeline.request import Request
from binalloc.printable import count, one_line
from binalloc.report.table import TextTable, table

if TYPE_CHECKING:
    from binalloc.launch.types import Launch
    from binalloc.report.shapes.commands.multiplex import (
        AdaptedLaunchJson,
        ChosenVersionJson,
        MultiplexedVersionJson,
        MultiplexingJson,
        MultiplexJson,
        SchemeJson,
        TriedSchemesJson,
        TurnsJson,
    )
    from binalloc.report.shapes.parts.timelines import TimelinesJson
    from binalloc.report.shapes.parts.versions import VersionJson

ORIGINAL = "the original"


def multiplexing_json(found: Multiplexing, output: str | None, names: Mapping[str, str]) -> MultiplexingJson:
    """Return a comparison as JSON. output: the file that a version was written to. names: how parameters are spelled in
    reasons (`Hint.spelled`)."""
    original = found.original
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
    if found.own is not None:
        out["own"] = _scheme(found, found.own, names)
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
    out: ChosenVersionJson = {
        "scheme": wanted.scheme,
        "merge": wanted.merge,
        "barriers": wanted.barriers if wanted.scheme in MERGED else None,
        "over": wanted.over,
        "shorter_regions": wanted.shorter,
        "speedup": round(speedup, 4),
    }
    if wanted.own:
        out["own_words"] = True
    return out


def timelines_json(found: Multiplexing, request: Request) -> TimelinesJson:
    """Return timelines of the original and of all versions that were run, as JSON. Raises as their runs."""
    launch, ran = request.launch, [t for t in found.tried if t.version is not None]
    assert launch is not None
    shown = [Shown(found.original, launch)]
    for tried in ran:
        assert tried.version is not None
        assert tried.built is not None
        shown.append(Shown(tried.version, tried.built.launch, tried.built.merge, tried.wanted.over))
    drawn = timelines(shown, request)
    return {
        "cycles_per_column": drawn.column,
        "versions": [
            {"version": name, "blocks": [{"block": life.block, "marks": life.marks} for life in lives]}
            for name, lives in zip([ORIGINAL, *(t.wanted.name for t in ran)], drawn.lives, strict=True)
        ],
    }


def turns_json(turns: Turns, launch: Launch, names: Mapping[str, str], without: VersionJson) -> TurnsJson:
    """Return a choice as JSON. launch: the original's. names: as in `multiplexing_json`. without: the policy's
    version."""
    tried, original = turns.tried, turns.tried.original
    free = None if turns.free is None or isinstance(turns.free, BinallocError) else turns.free.cycles
    out: TurnsJson = {
        "among": turns.among,
        "chosen": None if turns.best is None else chosen_json(tried, turns.best),
        "reason": turns.reason,
        "without": without,
        "free": None if not free else round((original.cycles or 0) / free, 4),
        "launch": _adapted(turns, launch),
        "schemes": [_scheme(tried, each, names) for each in tried.tried],
    }
    if tried.shorter is not None:
        out["shorter"] = _scheme(tried, tried.shorter, names)
    if tried.own is not None:
        out["own"] = _scheme(tried, tried.own, names)
    return out


def _adapted(turns: Turns, launch: Launch) -> AdaptedLaunchJson | None:
    """Return the launch of merged blocks; None for the original's."""
    merge = None if turns.best is None or turns.best.built is None else turns.best.built.merge
    if merge is None:
        return None
    own = turns.launch(launch)
    return {"grid": list(own.grid), "block": list(own.block), "original_grid": launch.grid[merge.axis]}


def _scheme(found: Multiplexing, tried: Tried, names: Mapping[str, str]) -> SchemeJson:
    wanted, version, speedup = tried.wanted, tried.version, found.speedup(tried)
    out: SchemeJson = {
        "scheme": wanted.scheme,
        "merge": wanted.merge,
        "barriers": wanted.barriers if wanted.scheme in MERGED else None,
        "over": wanted.over,
        "shorter_regions": wanted.shorter,
        "own_words": wanted.own,
        "refused": None if tried.refused is None else tried.refused.text(names),
    }
    if version is not None:
        out["registers"] = version.registers
        out["slots"] = version.slots
        out["shared_bytes"] = version.shared_bytes
        out["blocks_per_sm"] = version.blocks_per_sm
        if tried.built is not None:
            _add_division(out, tried.built)
        if version.cycles is not None and speedup is not None:
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
    made = [each for each in found["schemes"] if "registers" in each]
    original, limits = found["original"], " and ".join(found["original"]["limits"])
    out = f"{found['kernel']}: {_answer(found, made)}\n"
    how = "" if original["version"] == "the original" else f" ({original['version']})"
    out += f"The original{how} has {count(original['blocks_per_sm'], 'block')} per SM, limited by {limits}"
    out += "; it was not run.\n\n" if original["cycles"] is None else f": {original['cycles']:,} cycles.\n\n"
    if "region_share" in found:
        out = f"{out.rstrip()}\n{_share(found['region_share'], found.get('region_share_refused'))}\n\n"
    drawn = _timelines(found["timelines"]) if "timelines" in found else ""
    return out + _versions(found) + drawn + _files(found, made)


def _files(found: MultiplexJson, made: list[SchemeJson]) -> str:
    """Return which files were written, and how what is in them is launched."""
    if found["output"] is None:
        return "No file was written (-o FILE).\n"
    written: MultiplexedVersionJson | ChosenVersionJson | None = found.get("chosen") or best_version(made)
    assert written is not None
    out = f"{one_line(found['output'])}: {version_name(written)} was written.\n"
    if written["scheme"] in MERGED:
        out += "Commands of binalloc adapt the original's launch file to its merged blocks.\n"
    if found["launch_output"] is not None:
        out += f"{one_line(found['launch_output'])}: its launch file was written.\n"
    return out


def best_version(made: Iterable[SchemeJson]) -> SchemeJson | None:
    """Return the fastest of versions that may be used: proven, and with the original's results, if they were run."""
    good = [each for each in made if each["proven"] and ("cycles" not in each or each["same_results"])]
    return min(good, key=lambda each: each.get("cycles", 0), default=None)


def _timelines(found: TimelinesJson) -> str:
    """Return for each version what the first blocks of an SM did, a line each."""
    each = count(found["cycles_per_column"], "cycle")
    marks = f"{Mark.SHARED} shared memory is accessed, {Mark.OTHER} other instructions, {Mark.WAITS} none"
    out = f"\nThe first blocks of an SM, by their numbers. A column is {each}: {marks}.\n"
    for version in found["versions"]:
        out += f"{version['version']}\n"
        out += "".join(f"{one['block']:>6} {one['marks']}\n" for one in version["blocks"])
    return out + "\n"


def render_turns(kernel: str, machine: str, turns: TurnsJson) -> tuple[str, str]:
    """Return the answer to `--multiplex` as lines, and the versions behind it as text."""
    head = "".join(f"{line}\n" for line in turns_answer(kernel, machine, turns))
    return head, f"Versions whose blocks use shared memory in turns ({turns['among']})\n{_versions(turns)}"


def turns_answer(kernel: str, machine: str, turns: TurnsJson) -> list[str]:
    """Return the answer to `--multiplex`: what is taken, and how it is launched; or why nothing is."""
    chosen, own = turns["chosen"], turns["launch"]
    if chosen is None:
        none = f"no version whose blocks use shared memory in turns is taken on {machine}"
        return [f"{kernel}: {none}: {turns['reason']}."]
    gain = f"{chosen['speedup']:.3f} times as fast as the original on {machine}, emulated"
    head = [f"{kernel}: taken is {version_name(chosen)}, {gain}."]
    if own is None:
        return head
    grid, block = (" x ".join(map(str, sides)) for sides in (own["grid"], own["block"]))
    sides = f"grid {grid}, block {block}, {GRID} = {own['original_grid']:,}"
    return [*head, f"The original's launch file runs it, adapted: {sides}."]


def versions_table(found: TriedSchemesJson) -> TextTable | None:
    """Return a table of the versions that were built; None if there is none of a scheme."""
    if not any("registers" in each for each in found["schemes"]):
        return None
    head = ["version", "speedup", "cycles", "registers", "slots", "bytes", "blocks", "results", "proof"]
    return TextTable(head, [_row(each) for each in _every(found) if "registers" in each])


def reasons(found: TriedSchemesJson) -> list[str]:
    """Return how versions divide memory, and why others were not run or proven, a line for each reason."""
    divided = [f"{version_name(one)}: {_division(one)}" for one in found["schemes"] if "divided" in one]
    own = found.get("own")
    known = None if own is None else own["refused"]  # of no version with own words
    none = [
        (version_name(one), one["refused"]) for one in _every(found)
        if one["refused"] is not None and (one is own or not one["own_words"] or one["refused"] != known)
    ]  # fmt: skip
    unproven = [(version_name(one), why) for one in _every(found) if (why := one.get("unproven")) is not None]
    return [*divided, *_by_reason("No", none), *_by_reason("No proof of", unproven)]


def _by_reason(what: str, said: list[tuple[str, str]]) -> list[str]:
    """Return a line for each reason, with the versions that have it."""
    names: dict[str, list[str]] = {}
    for name, why in said:
        names.setdefault(why, []).append(name)
    return [f"{what} {'; '.join(those)}: {why}" for why, those in names.items()]


def _every(found: TriedSchemesJson) -> list[MultiplexedVersionJson]:
    alone = (found.get("shorter"), found.get("own"))
    return [*(each for each in alone if each is not None), *found["schemes"]]


def _versions(found: TriedSchemesJson) -> str:
    """Return the table of versions, and the lines below it."""
    shown = versions_table(found)
    rows = "" if shown is None else table(shown.head, shown.rows, left=1) + "\n"
    return rows + "".join(f"{line}\n" for line in reasons(found))


def _share(share: float | None, refused: str | None) -> str:
    """Return for which part of a block's life its shared memory is in use."""
    if share is None:
        return f"For which part of a block's life its shared memory is in use cannot be measured: {refused}"
    return f"Its shared memory is in use for {share:.1%} of a block's life."


def _answer(found: MultiplexJson, made: list[SchemeJson]) -> str:
    chosen = found.get("chosen")
    if chosen is not None and chosen["scheme"] == "original":
        return f"chosen is the original; no proven version of it is faster on {found['machine']}, emulated"
    if chosen is not None:
        gain = f"{chosen['speedup']:.3f} times as fast on {found['machine']}, emulated"
        return f"chosen is {version_name(chosen)}, {gain}"
    if not made:
        return "no version that uses its shared memory in turns could be built and run"
    if found["original"]["cycles"] is None:
        proven = sum(each["proven"] for each in made)
        return f"{count(len(made), 'version')} built for {found['machine']}, {proven} of them proven; none was emulated"
    best = best_version(made)
    if best is None:
        return "no version is proven and leaves the original's results"
    gained = "" if best["speedup"] > 1 else "nothing gained; best "
    return f"{gained}{version_name(best)} is {best['speedup']:.3f} times as fast on {found['machine']}, emulated"


def version_name(each: MultiplexedVersionJson | ChosenVersionJson) -> str:
    """Return the name of a version."""
    barriers, shorter, own = each["barriers"] or BLOCK, each["shorter_regions"], each.get("own_words", False)
    return Wanted(each["scheme"], each["merge"], barriers, each["over"], shorter=shorter, own=own).name


def _division(each: SchemeJson) -> str:
    """Return how shared memory was divided."""
    whose = "each virtual block" if each["merge"] is not None else "each block"
    variables = ", ".join(
        v["name"] + (f" up to byte {v['private_bytes']:,} of {v['bytes']:,}" if v["private_bytes"] < v["bytes"] else "")
        for v in each["divided"]
    )  # fmt: skip
    private, public = each["private_bytes"], each["public_bytes"]
    which = f"; private: {variables}" if variables else ""
    return f"{private:,} bytes private for {whose}, {public:,} in turns{which}"


def _row(each: MultiplexedVersionJson) -> tuple[object, ...]:
    same = {True: "the same", False: "DIFFERENT", None: "not compared"}[each.get("same_results")]
    speedup = f"{each['speedup']:.3f}" if "speedup" in each else None
    figures = each.get("cycles"), each["registers"], each["slots"], each["shared_bytes"], each["blocks_per_sm"]
    return version_name(each), speedup, *figures, same, "proven" if each["proven"] else "none"
