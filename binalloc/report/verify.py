"""This module reports `binalloc verify`, as JSON and as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from binalloc.printable import count
from binalloc.verify.report import resting

if TYPE_CHECKING:
    from binalloc.launch.comparison import Shown
    from binalloc.pipeline.proving.control_codes import ControlCodes
    from binalloc.pipeline.proving.limits import KeptLimit
    from binalloc.pipeline.proving.runs import ComparedRuns, FirstStore
    from binalloc.pipeline.proving.turns import TurnsProof
    from binalloc.pipeline.proving.verify import Verification
    from binalloc.report.shapes.commands.verify import (
        ComparedOn,
        ControlCodesJson,
        FirstStoreJson,
        HazardJson,
        LimitJson,
        ProvenTurnsJson,
        VerificationJson,
    )
    from binalloc.verify.hazards.check import Hazard

MOST_NOTES = 5  # notes in the text: a binary of many kernels has one for each, and the first show their kind
SHOWN = 20  # findings in the text: about a screen; --json has all


def verification_json(found: Verification) -> VerificationJson:
    """Return a verification as `verify --json` prints it, without `schema_version`."""
    proof, runs = found.proof, found.runs
    return {
        "verified": found.verified,
        "kernel": proof.kernels[0] if len(proof.kernels) == 1 else None,
        "kernels": proof.kernels,
        "unchanged": proof.unchanged,
        "checked": proof.passed,
        "findings": proof.findings,
        "turns": [_turns(one) for one in proof.turns],
        "notes": proof.notes,
        "hint": proof.hint,
        "control_codes": _control_codes(found.control_codes),
        "limits": [_limit(limit) for limit in found.limits],
        "within_limits": found.within_limits,
        "exceeded": [limit.sentence for limit in found.limits if not limit.kept],
        "same_results": None if runs is None else runs.same,
        "differences": [] if runs is None else runs.differences,
        "first_store": None if runs is None or runs.first_store is None else _first_store(runs.first_store),
        "cycles": None if runs is None else {"original": runs.original, "rewritten": runs.rewritten},
        **_compared_on(runs),
    }


def _turns(found: TurnsProof) -> ProvenTurnsJson:
    return {
        "kernel": found.kernel,
        "scheme": found.scheme,
        "block": list(found.block),
        "proven": found.proven,
        "missing": found.missing or None,
        "sharing": found.sharing or None,
        "by_symbol": found.by_symbol,
        "order": found.order or None,
        "grid": None if found.grid is None else list(found.grid),
    }


def _control_codes(found: ControlCodes) -> ControlCodesJson:
    return {
        "ok": found.ok,
        "machines": found.machines,
        "hazards": [_hazard(name, hazard) for name, hazard in found.hazards],
        "findings": [str(hazard) for _, hazard in found.hazards],
        "notes": found.notes,
    }


def _hazard(machine: str, hazard: Hazard) -> HazardJson:
    return {
        "machine": machine,
        "kind": hazard.kind,
        "function": hazard.function,
        "index": hazard.index,
        "instruction": hazard.instruction,
        "places": list(hazard.places),
        "producer_function": hazard.producer_function or None,
        "producer_index": None if hazard.producer_index < 0 else hazard.producer_index,
        "producer": hazard.producer or None,
        "cycles_needed": hazard.needed,
        "cycles_found": hazard.found,
        "scoreboards": list(hazard.scoreboards),
        "other_lanes": hazard.other_lanes,
    }


def _limit(row: KeptLimit) -> LimitJson:
    return {
        "kernel": row.kernel,
        "counter": row.counter,
        "original": row.original,
        "limit": row.limit,
        "found": row.found,
        "directives": list(row.directives),
    }


def _compared_on(runs: ComparedRuns | None) -> ComparedOn:
    if runs is None:
        return {}
    return {"machine": runs.machine, "scheduler": runs.scheduler, "original_rescheduled": runs.rescheduled}


def _first_store(first: FirstStore) -> FirstStoreJson:
    return {
        "element": first.element,
        "original": {"store": first.original, "value": _value(first.expected)},
        "rewritten": {"store": first.rewritten, "value": _value(first.actual)},
    }


def _value(v: Shown) -> int | float | str:
    """Return a value as JSON can hold it: NaN, infinities and complex numbers as text."""
    return v if isinstance(v, int) or (isinstance(v, float) and math.isfinite(v)) else str(v)


def render_verification(found: VerificationJson) -> str:
    """Return the verdicts of the check, of the control codes, of the runs and of the limits, with their findings."""
    lines = [_turns_line(one, found["checked"]) for one in found["turns"]]
    if found["checked"] is not None:
        names = [name for name in found["kernels"] if name not in found["unchanged"]]
        what = ", ".join(names) or f"no kernel {'that changed' if found['kernels'] else 'in common'}"
        lines.append(f"{what}: symbolic check {'passed' if found['checked'] else 'FAILED'}\n")
    lines += _findings(found["findings"])
    lines += [f"  note: {text}\n" for text in found["notes"][:MOST_NOTES]]
    if len(found["notes"]) > MOST_NOTES:
        lines.append(f"  and {count(len(found['notes']) - MOST_NOTES, 'more note')}\n")
    if found["hint"]:
        lines.append(f"  {found['hint']}\n")
    if found["unchanged"]:
        lines.append(f"{', '.join(found['unchanged'])}: unchanged, not checked\n")
    lines.append(_render_control_codes(found["control_codes"]))
    cycles = found["cycles"]
    if cycles is not None:
        lines.append(f"emulated results {'same' if found['same_results'] else 'DIFFERENT'}; ")
        lines.append(f"cycles {cycles['original']:,} and {cycles['rewritten']:,} on {found['machine']}")
        lines.append(" (the original rescheduled for it)\n" if found["original_rescheduled"] else "\n")
        lines += [f"  {text}\n" for text in found["differences"]]
    first = found["first_store"]
    if first is not None:
        lines.append(f"first differing element {first['element']}\n")
        for side, store in (("original", first["original"]), ("rewritten", first["rewritten"])):
            lines.append(f"  {side:9s} {store['value']!r}, by {store['store'] or 'no store'}\n")
    lines.append(_render_limits(found))
    return "".join(lines)


def _turns_line(one: ProvenTurnsJson, checked: bool | None) -> str:
    """Return a line that says whether a kernel's scheme is proven. checked: whether binaries are what schemes make."""
    block = " x ".join(map(str, one["block"]))
    verdict = f"proven for blocks of {block}" if one["proven"] else "NOT proven"
    if one["proven"] and one["order"] is not None:
        verdict = "proven"
    if one["proven"] and checked is False:
        verdict = f"what its record describes is {verdict}"
    if one["proven"] and one["by_symbol"]:
        verdict += f"; {resting(one['by_symbol'])}"
    how = f"blocks use shared memory in turns, {one['scheme']}"
    if one["sharing"] is not None:
        how = f"blocks share memory two by two, {one['sharing']}"
    elif one["order"] is not None and one["grid"] is not None:
        how = f"blocks work in order {one['order']} on a grid of {' x '.join(map(str, one['grid']))}"
    elif one["scheme"] == "overlay":
        how = "variables lie over one another in shared memory"
    return f"{one['kernel']}: {how}: {verdict}\n"


def _findings(texts: Sequence[str]) -> list[str]:
    """Return the first findings as lines, and how many more there are."""
    more = [f"  and {len(texts) - SHOWN} more\n"] if len(texts) > SHOWN else []
    return [*(f"  {text}\n" for text in texts[:SHOWN]), *more]


def _render_control_codes(found: ControlCodesJson) -> str:
    """Return the result of the hazard check as lines, the verdict first."""
    lines = []
    if found["machines"]:
        count = len(found["hazards"])
        verdict = "no hazard" if not count else "1 HAZARD" if count == 1 else f"{count} HAZARDS"
        lines.append(f"control codes: {verdict} on {', '.join(found['machines'])}\n")
    lines += _findings(found["findings"])
    lines += [f"control codes NOT CHECKED: {text}\n" for text in found["notes"]]
    return "".join(lines)


def _render_limits(found: VerificationJson) -> str:
    """Return one line if all limits are kept, else a line for each that is exceeded; "" without limits."""
    if found["within_limits"]:
        kept = (f"{r['kernel']} {r['counter']} {r['found']:,} of at most {r['limit']:,}" for r in found["limits"])
        return f"limits kept: {'; '.join(kept)}\n"
    return "".join(f"limit exceeded: {text}\n" for text in found["exceeded"])
