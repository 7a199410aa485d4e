"""Structs whose file lists fields in another order than that of their offsets: saved, read, compared and told of as any
other, and still written in the file's order in lists of values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binalloc.errors import MalformedInput
from binalloc.launch.elements.layout import element_of, numpy_of
from binalloc.launch.file import compare, parse_launch, reference_outputs
from binalloc.launch.types import Launch
from binalloc.report.runs.files import save_buffers
from tests.support.kits.launch.launch_files import buffer

INNER = {"fields": [{"name": "y", "dtype": "u8", "offset": 6}, {"name": "x", "dtype": "u16", "offset": 2}], "bytes": 8}
OUTER = {
    "fields": [
        {"name": "last", "dtype": "f32", "offset": 24},
        {"name": "pair", "dtype": "Inner", "shape": 2, "offset": 4},
        {"name": "first", "dtype": "bool", "offset": 0},
    ]
}
VALUES = {"values": [[1.5, [[3, 4], {"x": 6, "y": 5}], True], {"last": 2.5}]}


def launch(folder: Path, init: Any = "zeros", **more: Any) -> Launch:
    data = buffer("Outer", 2, init) | {"types": {"Inner": INNER, "Outer": OUTER}}
    return parse_launch(data | more, path=str(folder / "l.toml"))


def test_they_are_saved_and_read_again(tmp_path: Path) -> None:
    made = launch(tmp_path, VALUES).make_buffers()
    x = made["x"]
    assert (x["last"].tolist(), x["first"].tolist()) == ([1.5, 2.5], [True, False])
    assert (x["pair"]["y"].tolist(), x["pair"]["x"].tolist()) == ([[3, 5], [0, 0]], [[4, 6], [0, 0]])
    raw = x.view("u1").reshape(2, 28)
    assert (raw[0, [0, 6, 10, 14, 18]].tolist(), raw[0, 24:].view("<f4").tolist()) == ([1, 4, 3, 6, 5], [1.5])
    (path,) = save_buffers(tmp_path / "saved", made, {})
    np.savez(tmp_path / "x.npz", x=x)
    (tmp_path / "x.raw").write_bytes(x.tobytes())
    for init in ({"file": path}, {"file": "x.npz", "array": "x"}, {"file": "x.raw"}):
        again = launch(tmp_path, init)
        assert compare(again, made, again.make_buffers()) == []


def test_a_file_of_something_else_is_told_of_in_words(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(2, "f4"))
    with pytest.raises(MalformedInput, match=re.escape("expected structs [('first', '|b1'), ('', '|V3'), ('pair', ")):
        launch(tmp_path, {"file": "x.npy"}).make_buffers()


@pytest.mark.parametrize("names", ["last pair first", "first pair last"])
def test_references_may_build_them_in_either_order(names: str, tmp_path: Path) -> None:
    (tmp_path / "ref.py").write_text(f"""
import numpy as np
def reference(inputs, launch):
    fields = inputs["x"].dtype.fields
    names = {names.split()!r}
    parts = {{"names": names, "formats": [fields[n][0] for n in names], "offsets": [fields[n][1] for n in names]}}
    out = np.zeros(2, np.dtype(parts | {{"itemsize": inputs["x"].dtype.itemsize}}))
    for name in names:
        out[name] = inputs["x"][name]
    out["last"][1] = 7
    return {{"x": out}}
""")
    made = launch(tmp_path, VALUES, reference={"file": "ref.py", "function": "reference"})
    before = made.make_buffers()
    wanted = reference_outputs(made, before)
    assert [str(d) for d in compare(made, wanted, before)] == [
        "x[1].last: 2.5, expected 7.0 (exact; 1 of 2 elements differ)"
    ]


def test_references_that_return_objects_are_refused_in_words(tmp_path: Path) -> None:
    text = "def reference(inputs, launch): return {'x': np.zeros(2, np.dtype({'names': ['b', 'a'], 'formats': 'OO',"
    (tmp_path / "ref.py").write_text(f"import numpy as np\n{text} 'offsets': [8, 0]}}))}}\n")
    made = launch(tmp_path, VALUES, reference={"file": "ref.py", "function": "reference"})
    with pytest.raises(MalformedInput, match="the result fits no buffer of the launch"):
        reference_outputs(made, made.make_buffers())


def test_numpys_dtype_has_our_offsets_and_the_order_of_files(tmp_path: Path) -> None:
    struct = launch(tmp_path).argument("x").struct
    assert struct is not None
    dtype = numpy_of(struct)
    assert dtype.names == ("first", "pair", "last")
    assert dtype.fields is not None
    assert {m.name: m.offset for m in struct.members} == {name: dtype.fields[name][1] for name in dtype.names}
    found = element_of(dtype)
    assert found is not None
    assert numpy_of(found) == dtype
