"""This module runs the symbolic checker on two binaries, and finds the likely cause of its findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from binalloc.emulator.host.pairs import OFF
from binalloc.pipeline.proving.orders import prove_orders
from binalloc.pipeline.proving.overlays import OVERLAY, prove_overlays
from binalloc.pipeline.proving.pairs import judge_as_it_is, prove_pairs, releases_without_record
from binalloc.pipeline.proving.turns import Three, TurnsProof, prove_turns
from binalloc.pipeline.steps.kernels import find_kernel
from binalloc.pipeline.steps.record import MULTIPLEXED
from binalloc.printable import quoted
from binalloc.verify.report import CheckReport, resting
from binalloc.version import IMPORTER

if TYPE_CHECKING:
    from binalloc.isa.instruction import Function, Module, Origin
    from binalloc.launch.types import Launch
    from binalloc.models.machines.model import Machine


@dataclass(frozen=True)
class SymbolicProof:
    """A proof is the checker's answer."""

    kernels: list[str]  #: kernels that were to be proven
    unchanged: list[str]  #: kernels among them that are as they were, and were not checked
    findings: list[str]  #: what the checker could not prove, a sentence each
    notes: list[str]  #: the checker's remarks that are no findings, a sentence each
    hint: str | None  #: a likely cause of the findings; None if there is none
    turns: list[TurnsProof] = field(default_factory=list)  #: of kernels whose blocks use shared memory in turns

    @property
    def passed(self) -> bool | None:
        """Return whether everything is proven; None if there was nothing to check."""
        return None if self.unchanged == self.kernels and not self.findings else not self.findings


def prove_kernels(
    old: Module, new: Module, names: list[str], machine: Machine, *, whole: bool, sharing: str = OFF,
    block: Three | None = None,
) -> SymbolicProof:  # fmt: skip
    """Check the named kernels of `new` against `old`. whole: whether both binaries should have no other kernels.
    machine: the one for which kernels were made whose blocks use shared memory in turns. sharing: the option of runs;
    block: of its launches, None where there are none. Both are for releases that no record speaks of."""
    by_hand = releases_without_record(old, new, names)
    if by_hand:
        return _by_hand(old, new, names, by_hand, block, sharing)
    made, turns = prove_turns(old, new, names, machine)
    made, over = prove_overlays(made, new, names)
    made, pairs = prove_pairs(made, new, names, machine)
    made, ordered = prove_orders(made, new, names)
    turns += over + pairs + ordered
    lost = [one.missing for one in turns if one.missing]
    if any(one.module is None for one in turns):
        return SymbolicProof(names, [], lost, [], _hint(old, new), turns)
    findings, notes, unchanged = _check(made, new, names, whole=whole)
    if turns and notes:
        kernels = quoted(", ".join(one.kernel for one in turns))
        if all(one.scheme == OVERLAY for one in turns):
            what = "whose variables lie over one another"
        elif all(one.order for one in turns):
            what = "whose blocks work in another order"
        else:
            what = f"whose blocks {'share memory' if all(one.sharing for one in turns) else 'take turns'}"
        made_again = f"the kernel {what}, made again by its record"
        notes.insert(0, f"the original of {kernels} is here {made_again}")
    return SymbolicProof(names, unchanged, lost + findings, notes, _hint(old, new) if findings else None, turns)


def _by_hand(
    old: Module, new: Module, names: list[str], by_hand: list[str], block: Three | None, sharing: str
) -> SymbolicProof:
    """Return what is proven of kernels of which some release shared memory, with no record."""
    findings, notes = [], []
    for name in by_hand:
        report = judge_as_it_is(old, new, name, block, sharing)
        if report is None:
            findings.append(f"{name}: it releases shared memory, and nothing says how many bytes are private")
        else:
            findings += [str(error) for error in report.errors]
            notes += [str(note) for note in report.notes]
            if report.ok and report.by_symbol:
                notes.append(f"{name}: proven; {resting(report.by_symbol)}")
    others = [name for name in names if name not in by_hand]
    more, remarks, unchanged = _check(old, new, others, whole=False) if others else ([], [], [])
    hint = None if ":" in sharing else "say how blocks share memory, as PAIRS:BYTES"
    return SymbolicProof(names, unchanged, findings + more, notes + remarks, hint, [])


def kernels_to_prove(old: Module, new: Module, kernel: str | None) -> list[str]:
    """Return the names of the kernels to prove: the one named, else all that both binaries have."""
    if kernel is not None or not (old.kernels() and new.kernels()):
        name = find_kernel(new, kernel).name
        return [find_kernel(old, name).name]
    known = {fn.name for fn in old.kernels()}
    return [fn.name for fn in new.kernels() if fn.name in known]


def kernel_to_run(new: Module, kernel: str | None, launch: Launch | None) -> str:
    """Return the name of the kernel that the launch runs, "" without a launch."""
    return find_kernel(new, launch.kernel if kernel is None else kernel).name if launch is not None else ""


def _check(old: Module, new: Module, names: list[str], *, whole: bool) -> tuple[list[str], list[str], list[str]]:
    """Return findings and notes about the named kernels, and the ones among them that are unchanged and unchecked."""
    from binalloc.verify.resources import check_data
    from binalloc.verify.surroundings import changed_kernels, check_surroundings

    maps = _identities(old, new)
    changed = changed_kernels(old, new) if whole else names
    # kernels with the same code in both need no proof, and may be too large for the checker
    reports = {name: _judged(old, new, name, changed, maps) for name in (changed if len(names) > 1 else names)}
    proven = [name for name, report in reports.items() if name in changed or report.ok]
    findings: dict[str, None] = {}
    if not proven or len(names) > 1:
        findings |= dict.fromkeys(map(str, check_surroundings(old, new, "", also=proven) + check_data(old, new)))
    for name in proven:
        findings |= dict.fromkeys(map(str, reports[name].errors))
    notes = dict.fromkeys(str(note) for name in proven for note in reports[name].notes)
    return list(findings), list(notes), [name for name in names if name not in proven]


def _judged(old: Module, new: Module, name: str, changed: list[str], maps: dict[str, Origin]) -> CheckReport:
    """Return the checker's report on a kernel. maps: see `_identities`. Where the proof fails with one that is offered
    in the place of a function's own, it is tried again with that."""
    from binalloc.pipeline.steps.holding import declared_idle
    from binalloc.verify.checker import check

    slots = declared_idle(new, name)
    report = check(old, new, name, also=changed, maps=maps, idle_slots=slots)
    own = {fn: origin for fn, origin in maps.items() if new.function(fn).origin is None}
    if report.ok or own == maps:
        return report
    other = check(old, new, name, also=changed, maps=own, idle_slots=slots)
    return other if other.ok else report


def _identities(old: Module, new: Module) -> dict[str, Origin]:
    """Return identity maps for the functions of `new` that have no map of their own and are as long as in `old`."""
    known = {fn.name: fn for fn in old}
    found = {fn.name: _identity(known.get(fn.name), fn) for fn in new}
    return {name: origin for name, origin in found.items() if origin is not None}


def _identity(old: Function | None, new: Function) -> Origin | None:
    """Return the identity map of a function; None if it does not apply."""
    from binalloc.isa.instruction import Origin

    if old is None or len(old) != len(new):
        return None
    if new.origin is not None and old.origin is None and not _alike(old, new):
        return None
    # Where `old` was rewritten itself, the map of `new` may lead to the binary before it, not to `old`.
    return Origin(old.name, list(range(len(new))))


def _alike(old: Function, new: Function) -> bool:
    """Return whether two functions as long as one another have the same words, but for control codes and calls."""
    from binalloc.isa.sets.table import set_of

    words = zip(old.instrs, new.instrs, strict=True)
    return all(set_of(one) is set_of(other) and set_of(one).alike(one, other) for one, other in words)


def _hint(old: Module, new: Module) -> str | None:
    """Return likely causes of findings, in a sentence or two; None if there are none."""
    hints = []
    if apart := _imported_apart(old, new):
        hints.append(f"the two were imported differently: {', '.join(apart)}")
    known = _identities(old, new)
    unmapped = [fn.name for fn in new if fn.origin is None and fn.name not in known]
    if unmapped:
        text = f"{new.path or 'the rewritten binary'} carries no instruction map of {', '.join(unmapped)}, as "
        hints.append(text + "`binalloc rewrite` writes one: are the two arguments swapped (verify ORIGINAL REWRITTEN)?")
    turned = sorted({str(r["kernel"]) for r in new.provenance if MULTIPLEXED in r and "kernel" in r})
    if turned:
        text = f"blocks of {quoted(', '.join(turned))} use shared memory in turns: the steps to that are made again of "
        hints.append(text + "the original, so that it has to be the one of which they were made, by this binalloc")
    return ". ".join(hints) or None


_IMPORTED = {
    "input_sha256": "from other PTX",
    "inputs_sha256": "from other PTX",
    "machine": "for the machines {} and {}, to whose registers code that recurses keeps",
    "stack_bytes": "with stacks of {} and {} bytes per thread, which code that recurses has as numbers",
    "version": "by binalloc {} and {}",
}
"""For each key of an import's record, the words for two imports that differ in it."""


def _imported_apart(old: Module, new: Module) -> list[str]:
    """Return the differences between the records of two imports, in words; none if one binary has no record."""
    one, other = (next((r for r in module.provenance if r.get("tool") == IMPORTER), None) for module in (old, new))
    if one is None or other is None:
        return []
    pairs = ((words, one.get(key), other.get(key)) for key, words in _IMPORTED.items())
    return [words.format(quoted(a), quoted(b)) for words, a, b in pairs if a != b]
