"""The multiplex paper's experiments are shown as text. Its input is the object that JSON prints (`facts`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from binalloc.laboratory.multiplex.gains import FREE, SHORTER, TODAY, gain, kinds_of, version_of
from binalloc.laboratory.multiplex.paper import BEST, CURVE_MACHINES, GTX480_16K, GTX480_48K, MODERN, SIMULATED
from binalloc.pipeline.multiplex.build import HW, NAMED, PIPE
from binalloc.printable import count
from binalloc.report.table import cell, table

if TYPE_CHECKING:
    from binalloc.report.shapes.commands.multiplex import (
        CurveJson,
        CurvePointJson,
        MeanGainJson,
        MultiplexedKernelJson,
        MultiplexedMachineJson,
        MultiplexReproductionJson,
        ReproducedVersionJson,
    )

_LEGEND = """\
A cell has the emulated speedup over the original, and the blocks that an SM holds at once: of the best version, with
access regions as they are, made shorter (s), or with words of one thread in its local memory (o). The original is the
kernel in the fastest way that was found to run it, at the number of blocks that suits it best.
in use: part of a block's life in access regions as they are, and made shorter; the paper's is over its ten kernels.
*: without a proof. any: the fastest version with a proof, or the original; today: without instructions that no GPU has.
as is: the mean with access regions as they are alone. of N: so many kernels have such a version.
free: the original's code as if blocks needed no shared memory of the SM; reached: so much of its gain today / any have.
-: no such version, or no gain.
Collaborative schemes (co-) are made of MC, STO and HG alone, as in the paper. best: of the paper's schemes vtb,
vtb-pipe and co-vtb, without own words. vtb, named (n): turns are handed on at named barriers. The paper has neither.
On gtx285-gpgpusim only versions that get memory as they run are made. K: blocks that static memory allows.
"""


def render_multiplex_reproduction(found: MultiplexReproductionJson) -> str:
    """Return the experiments as text for a terminal. The first line is the answer."""
    return "\n".join(_blocks(found))


def _blocks(found: MultiplexReproductionJson) -> Iterator[str]:
    yield "\n".join(_answers(found)) + "\n"
    for machine in found["machines"]:
        kernels = [k for k in found["kernels"] if k["machine"] == machine["machine"]]
        yield _machine(machine, kernels)
    for curve in found["curves"]:
        yield _curve(curve)
    if found["orders"]:
        yield _orders(found)
    yield _LEGEND


def _curve(curve: CurveJson) -> str:
    """Return a figure as a table, and a sentence with its means."""
    head = [curve["work"], *(f"{one} {what}" for one in CURVE_MACHINES for what in ("original", PIPE))]
    rows: list[list[object]] = []
    for extent in dict.fromkeys(p["extent"] for p in curve["points"]):
        by = {p["machine"]: p for p in curve["points"] if p["extent"] == extent}
        rows.append([f"{extent:,}"])
        for one in CURVE_MACHINES:
            point = by.get(one)
            rows[-1] += [None, None] if point is None else [point["throughput"], _of_pipe(point)]
    out = f"Figure {curve['figure']}: throughput of {curve['kernel']}, over that of the original on {GTX480_48K}\n\n"
    out += table(head, rows)
    for p in curve["points"]:
        if p["status"] != "ok":
            out += f"{p['extent']:,} {curve['work']} on {p['machine']}: no figures: {p['reason']}\n"
    if curve["gain"] is not None:
        out += f"{PIPE} gains {curve['gain']:.3f} on {GTX480_48K}, at most {curve['largest']:.3f}; "
        out += f"the paper's gains {curve['paper_gain']:.2f}, at most {curve['paper_largest']:.2f}.\n"
    if curve["small_over_large"] is not None:
        times = f"{curve['small_over_large']:.3f} times as fast as the original on {GTX480_48K}"
        out += f"{PIPE} on {GTX480_16K} is {times}.\n"
    return out


def _of_pipe(point: CurvePointJson) -> str | None:
    """Return the throughput of a pipe, with the blocks that an SM holds."""
    if point["pipe_throughput"] is None:
        return None
    return f"{point['pipe_throughput']:.3f} ({point['blocks']}){'s' if point['shorter_regions'] else ''}"


def _orders(found: MultiplexReproductionJson) -> str:
    return "The paper's orders, and whether they hold here:\n" + "".join(
        f"  {one['order']}: {_HOLDS[one['holds']]} ({one['counters']})\n"
        + "".join(f"    {line}\n" for line in one["waits"])
        for one in found["orders"]
    )


_HOLDS = {True: "holds", False: "does NOT hold", None: "not known"}


def _answers(found: MultiplexReproductionJson) -> Iterator[str]:
    """Yield a line with the averages beside the paper's, and one for each machine that the paper does not have."""
    said = [_beside(machine) for machine in found["machines"] if machine["machine"] not in MODERN]
    if said:
        averages = "Geometric mean of the gains of best software versions, beside (the paper's), emulated:"
        yield f"{averages} {', '.join(said)}."
    for machine in found["machines"]:
        if machine["machine"] in MODERN:
            yield _left(machine, [k for k in found["kernels"] if k["machine"] == machine["machine"]])


def _beside(machine: MultiplexedMachineJson) -> str:
    name = HW if machine["machine"] == SIMULATED else BEST
    mean = next(m for m in machine["means"] if m["name"] == name)
    here = "nothing" if mean["here"] is None else f"{mean['here']:.2f}"
    what = "hw " if name == HW else ""
    return f"{what}{here} on {machine['machine']} over {count(mean['kernels'], 'kernel')} ({mean['paper']:.2f})"


def _left(machine: MultiplexedMachineJson, kernels: list[MultiplexedKernelJson]) -> str:
    """Return a sentence on what is left to gain on a machine that the paper does not have."""
    name = machine["machine"]
    ran = [k for k in kernels if k["status"] == "ok"]
    if not ran:
        return f"Nothing could be run on {name}."
    bound = sum("shared" in k["limits"] for k in ran)
    alone = sum(k["limits"] == ["shared"] for k in ran)
    free, today = ([value for k in ran if (value := gain(k, kind)) is not None] for kind in (FREE, TODAY))
    return (
        f"Shared memory limits {bound} of {count(len(ran), 'kernel')} on {name}, {alone} of them alone; free blocks "
        f"gain {min(free):.2f} to {max(free):.2f}, auto of today's GPUs {min(today):.2f} to {max(today):.2f}, emulated."
    )


def _machine(machine: MultiplexedMachineJson, kernels: list[MultiplexedKernelJson]) -> str:
    """Return the table of a machine, and sentences on it."""
    kinds = kinds_of(machine["machine"])
    head = ["kernel", "blocks", "bytes", "in use", "if shorter", *kinds, "reached"]
    rows: list[list[object]] = [_row(k, kinds) for k in kernels if k["status"] == "ok"]
    means = {m["name"]: m for m in machine["means"]}
    share, shorter = _percent(machine["region_share"]), _percent(machine["shorter_region_share"])
    paper = _percent(machine["paper_region_share"])
    rows.append(["mean", None, None, share, shorter, *(_mean(means[kind], kernels) for kind in kinds), None])
    rows.append(["as is", None, None, share, None, *(means[kind]["as_is"] for kind in kinds), None])
    modern = machine["machine"] in MODERN
    if not modern:
        rows.append(["the paper's", None, None, paper, None, *(_two(means[kind]["paper"]) for kind in kinds), None])
    rows.append(["largest", None, None, None, None, *(means[kind]["largest"] for kind in kinds), None])
    if not modern:
        largest = [_two(means[kind]["paper_largest"]) for kind in kinds]
        rows.append(["the paper's", None, None, None, None, *largest, None])
    out = f"{machine['machine']}\n\n" + table(head, rows)
    for k in kernels:
        if k["status"] != "ok":
            out += f"{k['kernel']}: no figures: {k['reason']}\n"
    return out + (_limits(kernels) if modern else "") + _worse(kernels) + _refused(kernels)


def _limits(kernels: list[MultiplexedKernelJson]) -> str:
    """Return a sentence on what keeps an SM from holding more blocks of the originals."""
    by = dict[str, list[str]]()
    for k in kernels:
        if k["status"] == "ok":
            by.setdefault(" and ".join(k["limits"]), []).append(k["kernel"])
    said = [f"{', '.join(those)} by {limits}" for limits, those in sorted(by.items())]
    return f"Numbers of blocks are limited: {'; '.join(said)}.\n" if said else ""


def _row(kernel: MultiplexedKernelJson, kinds: tuple[str, ...]) -> list[object]:
    shares = [_percent(kernel["region_share"]), _percent(kernel["shorter_region_share"])]
    head = [kernel["kernel"], kernel["original_blocks"], kernel["shared_bytes"], *shares]
    both = kernel["reached"]
    reached = " / ".join(cell(_percent(share)) for share in (both["today"], both["any"]))
    return [*head, *(_cell(kernel, kind) for kind in kinds), reached]


def _mean(mean: MeanGainJson, kernels: list[MultiplexedKernelJson]) -> str | None:
    """Return a mean, with the number of its kernels if some have no such version."""
    if mean["here"] is None:
        return None
    return f"{mean['here']:.3f}" + ("" if mean["kernels"] == len(kernels) else f" of {mean['kernels']}")


def _cell(kernel: MultiplexedKernelJson, kind: str) -> str | None:
    """Return a speedup with what is to be known of its version."""
    value = gain(kernel, kind)
    if value is None:
        return None
    if kind == FREE:
        return f"{value:.3f} ({kernel['free_blocks']})"
    auto = kernel["auto"]
    if kind in ("today", "any") and auto is not None:
        chosen = auto["today"] if kind == "today" else auto["any"]
        return f"{value:.3f} {chosen['scheme']}{chosen['merge'] or ''}{'n' if chosen['barriers'] == NAMED else ''}"
    if kind == SHORTER:
        return f"{value:.3f}"
    version = version_of(kernel, kind)
    assert version is not None
    return f"{value:.3f} ({version['blocks']}){_marks(version)}"


def _marks(version: ReproducedVersionJson) -> str:
    first = "s" if version["shorter_regions"] else "o" if version["own_words"] else ""
    return first + ("" if version["proven"] else "*")


def _worse(kernels: list[MultiplexedKernelJson]) -> str:
    """Return a sentence on the versions that are slower than the original."""
    ran = [(k, v) for k in kernels for v in k["schemes"] if v["speedup"] is not None]
    slow = [(k, v) for k, v in ran if (v["speedup"] or 0) < 1]
    alone = [f"{k['kernel']} shorter {k['shorter']:.3f}" for k in kernels if k["shorter"] and k["shorter"] < 1]
    said = [*alone, *(f"{k['kernel']} {_named(v)} {v['speedup']:.3f}" for k, v in slow)]
    if not said:
        return "No version is slower than the original.\n"
    return f"Slower than the original are {len(slow)} of {count(len(ran), 'version')}: {', '.join(said)}.\n"


def _refused(kernels: list[MultiplexedKernelJson]) -> str:
    """Return a line for versions that could not be made, by the reason, and for each that left other results."""
    out, reasons = "", dict[tuple[str, str], list[str]]()
    for k in kernels:
        for v in k["schemes"]:
            if v["speedup"] is None:
                reasons.setdefault((k["kernel"], v["reason"]), []).append(_named(v))
            elif v["same_results"] is False:
                out += f"{_named(v)} of {k['kernel']} left OTHER RESULTS.\n"
    return out + "".join(f"No {', '.join(those)} of {name}: {why}\n" for (name, why), those in reasons.items())


def _named(version: ReproducedVersionJson) -> str:
    name = version["scheme"]
    if version["merge"] is not None:
        name += f" of {version['merge']}" + (", named" if version["barriers"] == NAMED else "")
    elif version["over"] is not None:
        name += f" K+{version['over']}"
    return name + (" (s)" if version["shorter_regions"] else " (o)" if version["own_words"] else "")


def _two(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{value:.1%}"
