"""This task builds, proves and runs the versions of a kernel whose blocks use shared memory in turns.

They are one task, since they share the original's run and shorter access regions. Its outcome has the figures of each
version: of its program, of its run, and whether it left the original's results.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from binalloc.emulator.runs.options import RunOptions
from binalloc.errors import BinallocError
from binalloc.pipeline.multiplex.build import Wanted
from binalloc.pipeline.multiplex.choice import versions_among
from binalloc.pipeline.multiplex.multiplexing import Tried, multiplex_kernel
from binalloc.pipeline.original import baseline
from binalloc.pipeline.request import Request
from binalloc.pipeline.steps.measure import measure
from binalloc.pipeline.steps.row import OK
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.configuration import Subject
from binalloc.pipeline.sweeping.keys import key_of
from binalloc.pipeline.sweeping.tasks import built_figures, failed, opened, run_figures, status_of
from binalloc.printable import one_line


@dataclass(frozen=True)
class TakeTurns:
    """This task is about all versions of a subject, by one allocator."""

    subject: Subject
    options: RunOptions  #: how they are run, on the subject's machine
    allocator: str
    among: str  #: which versions: a row of `turns.MULTIPLEX`

    @cached_property
    def key(self) -> str:
        """Return a key that changes with the subject, the options, the allocator and the versions."""
        subject, figures = self.subject, self.options.figures()
        return key_of(["turns", subject.binary_key, subject.launch_key, figures, self.allocator, self.among])

    @property
    def name(self) -> str:
        """Return a name for people."""
        return f"{self.subject.kernel} with shared memory in turns by {self.allocator}"

    def figures(self) -> Outcome:
        """Build, prove and run the versions, and return their figures by name."""
        module, request = opened(self.subject)
        options = replace(self.options, machine=self.subject.machine)
        request = replace(request, options=options, allocator=self.allocator)
        original = measure(baseline(module, request), request)
        found = multiplex_kernel(module, request, versions_among(self.among, self.subject.machine), original=original)
        return {"versions": {one.wanted.name: _figures(one, request) for one in found.every}}


def version_of(outcome: Outcome, wanted: Wanted) -> Outcome:
    """Return the figures of one version. outcome: the task's, which ended well."""
    found: Outcome = outcome["versions"][wanted.name]
    return found


def _figures(tried: Tried, request: Request) -> Outcome:
    """Return the figures of one version: of its program and its run, each with its status as of a task."""
    version = tried.version
    if version is None or version.cycles is None:
        error = tried.refused
        assert isinstance(error, BinallocError)
        return {"built": failed(status_of(error), error.message), "ran": None, "same": None}
    built = built_figures(version, proven=not tried.unproven)
    del built["program"]  # rows do not need it, and it is large
    ran = run_figures(version.cycles, version.stats, request.machine)
    return {
        "built": {"status": OK, "reason": one_line(tried.unproven), **built},
        "ran": {"status": OK, "reason": one_line(tried.unproven), **ran},
        "same": tried.same,
    }
