"""What tests of `multiplex` share is what each of them would have found."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from binalloc.isa.sets.files import write_module
from binalloc.pipeline.multiplex.fit import fastest
from binalloc.pipeline.multiplex.shorter import shorter_regions
from tests.support.kits.suite.versions import sharing_regions, sharing_versions
from tests.unit.pipeline.test_dividing import sample


def fail(*_: object, **__: object) -> NoReturn:
    raise AssertionError("made again")


def test_a_version_that_is_shared_is_the_one_that_was_found(tmp_path: Path) -> None:
    module, request = sample("reduction")
    made = fastest(module, request, "hw", slots=False)
    sharing_versions(fastest, tmp_path)(module, request, "hw", slots=False)
    same = sharing_versions(fail, tmp_path)(module, request, "hw", slots=False)
    assert write_module(same.module) == write_module(made.module)
    assert (same.row(), same.stats, same.name, same.printed) == (made.row(), made.stats, made.name, made.printed)
    assert [fn.name for fn in same.functions] == [fn.name for fn in made.functions]
    assert same.buffers.keys() == made.buffers.keys()
    assert all(np.array_equal(same.buffers[name], made.buffers[name]) for name in made.buffers)
    with pytest.raises(AssertionError, match="made again"):
        sharing_versions(fail, tmp_path)(module, request, "hw", slots=True)
    with pytest.raises(AssertionError, match="made again"):
        sharing_versions(fail, tmp_path)(module, request.with_options(over=1), "hw", slots=False)


def test_shorter_regions_that_are_shared_are_those_that_were_made(tmp_path: Path) -> None:
    module, request = sample("reduction")
    made = shorter_regions(module, request)
    sharing_regions(shorter_regions, tmp_path)(module, request)
    same = sharing_regions(fail, tmp_path)(module, request)
    assert (write_module(same.module), same.unproven) == (write_module(made.module), made.unproven)
