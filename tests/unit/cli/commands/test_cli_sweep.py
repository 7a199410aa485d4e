"""`binalloc sweep`: the table it writes, how it goes on, and the input that it refuses."""

from __future__ import annotations

import csv
import io
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from binalloc.pipeline.sweeping.cache import Cache
from binalloc.pipeline.sweeping.rows import COLUMNS, FLAG, INTEGER, NUMBER
from tests.support.kits.cli import call, launch, loom, refused
from tests.support.paths import sample_file

QUICK = ("--size", "test", "--engine", "python", "--jobs", "1")


@pytest.fixture
def kept(tmp_path: Path) -> list[str]:
    """Options for a small sweep with a cache of its own."""
    return [*QUICK, "--cache", str(tmp_path / "kept")]


def read(value: str, kind: str) -> object:
    """A field of CSV as what the row has."""
    if kind == FLAG:
        return {"true": True, "false": False, "": None}[value]
    return (
        value if kind not in (INTEGER, NUMBER) else None if value == "" else {INTEGER: int, NUMBER: float}[kind](value)
    )


def test_csv_and_json_have_the_same_rows(tmp_path: Path, kept: list[str]) -> None:
    line = ["sweep", loom("callchain"), *kept, "--levels", "7-9", "--allocators", "best,local"]
    out = tmp_path / "sweep.csv"
    answer = call(*line, "-o", str(out))
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == f"7 rows: 5 ok, 2 infeasible.\nWritten: {out}\n"
    found = call(*line, "--json").json
    names = [column.name for column in COLUMNS]
    header, *lines = csv.reader(io.StringIO(out.read_text()))
    assert header == names
    rows = [
        {column.name: read(text, column.kind) for column, text in zip(COLUMNS, fields, strict=True)} for fields in lines
    ]
    told = [{name: value for name, value in row.items() if value is not None} for row in found["rows"]]
    assert [{name: row[name] for name in known} for row, known in zip(rows, told, strict=True)] == told
    assert all(not row[name] for row, known in zip(rows, told, strict=True) for name in {*names} - {*known})
    assert (found["counts"]["ok"], found["counts"]["infeasible"], found["partial"]) == (5, 2, False)
    assert [row["allocator"] for row in found["rows"]] == ["original", *["local", "best"] * 3]
    assert (found["done"], found["cached"], found["output"]) == (0, 6, None)
    assert call(*line, "-o", "-").raw == out.read_bytes()
    text = call(*line).out
    assert "callchain on gtx680, local at 9, best at 9: gtx680 has no room at once for 9 blocks" in text
    assert text.endswith("\n7 rows: 5 ok, 2 infeasible.\n")


@pytest.mark.rotates("long commands")
def test_files_machines_and_schedulers_in_their_order(tmp_path: Path, kept: list[str]) -> None:
    ptx = tmp_path / "rd.ptx"
    shutil.copy(sample_file("reduction.ptx"), ptx)
    shutil.copy(sample_file("reduction.toml"), tmp_path / "rd.toml")
    line = ["sweep", str(ptx), loom("callchain"), str(ptx), *kept, "--levels", "1", "--allocators", "local"]
    found = call(*line, "--machine", "gtx680,c2075", "--schedulers", "gto,lrr", "--json")
    assert found.err.count("is PTX: imported in memory") == 2
    rows = found.json["rows"]
    order = [(row["kernel"], row["machine"], row["scheduler"], row["allocator"]) for row in rows]
    assert order == [
        (kernel, machine, scheduler, allocator)
        for kernel in (rows[0]["kernel"], "callchain")
        for machine in ("gtx680", "c2075")
        for scheduler in ("lrr", "gto")
        for allocator in ("original", "local")
    ]
    assert {row["status"] for row in rows} == {"ok"}


KERNELS = "".join(
    f""".kernel {name}
.param out, 8
.block 32
    S2R R4, SR_TID.X
    MOV R5, 4
    IMAD.WIDE R2, R4, R5, c[0][out]
    MOV R5, {number}
    STG [R2], R5
    EXIT
.end
"""
    for number, name in enumerate(("one", "two", "_ZN2ns5threeEPj"))
)


def test_kernels_that_are_named_are_launched_in_place_of_the_files(tmp_path: Path, kept: list[str]) -> None:
    file = tmp_path / "k.loom"
    file.write_bytes(call("asm", "-", stdin=KERNELS.encode()).raw)
    (tmp_path / "k.toml").write_text(
        'kernel = "one"\ngrid = 2\nblock = 32\n[sizes.test]\n'
        '[[argument]]\nname = "out"\nkind = "buffer"\ndtype = "u32"\nshape = 32\ninit = "zeros"\n'
    )
    line = ["sweep", str(file), *kept, "--levels", "16", "--allocators", "local", "--json"]

    def swept(*names: str) -> list[str]:
        rows = call(*line, *(text for name in names for text in ("--kernel", name))).json["rows"]
        assert {row["status"] for row in rows} == {"ok"}
        assert [row["allocator"] for row in rows] == ["original", "local"] * (len(rows) // 2)
        return [row["kernel"] for row in rows[::2]]

    assert swept() == ["one"]
    assert swept("two") == ["two"]
    assert swept("ns::three", "one", "three") == ["_ZN2ns5threeEPj", "one"]
    said = refused(2, *line[:-1], "--kernel", "one", "--kernel", "four")
    assert "no such kernel; found four; expected one, two, ns::three" in said


def test_interrupted_it_keeps_what_is_done_and_goes_on(
    tmp_path: Path, kept: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, put, times = tmp_path / "sweep.csv", Cache.put, []
    line = ["sweep", loom("callchain"), *kept, "--levels", "7,8", "-o", str(out)]

    def interrupted(self: Cache, key: str, outcome: Any) -> None:
        put(self, key, outcome)
        times.append(key)
        if len(times) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(Cache, "put", interrupted)
    answer = call(*line, "--json")
    assert answer.code == 130
    assert answer.err.startswith("binalloc: error: interrupted; finished runs are kept in ")
    found = answer.json
    assert (found["partial"], found["output"], found["done"]) == (True, None, 3)
    assert not out.exists()
    times.clear()
    text = call(*line, "--cache", str(tmp_path / "other"))
    assert text.code == 130
    assert text.out.startswith("PARTIAL: interrupted, further rows are not known.\n\nkernel ")
    monkeypatch.undo()
    again = call(*line, "--json").json
    assert (again["partial"], again["cached"], again["output"]) == (False, 4, str(out))
    assert again["rows"][: len(found["rows"])] == found["rows"]
    assert call("sweep", loom("callchain"), *QUICK, "--cache", str(tmp_path / "new"), "--levels", "7,8",
                "-o", "-").raw == out.read_bytes()  # fmt: skip


def test_damage_is_told_once(kept: list[str]) -> None:
    line = ["sweep", loom("callchain"), *kept, "--levels", "8", "--allocators", "local", "-o", "-"]
    first = call(*line)
    folder = Path(kept[-1])
    path = sorted(folder.rglob("*.json"))[0]
    path.write_bytes(path.read_bytes()[:-1])
    again, last = call(*line), call(*line)
    assert again.err == (
        f"binalloc: {path} is damaged (its checksum is another): set aside as {path.stem}.damaged, and done again\n"
    )
    assert last.err == ""
    assert first.raw == again.raw == last.raw


def test_where_nothing_runs_the_exit_code_is_1(kept: list[str]) -> None:
    line = ["sweep", loom("callchain"), *kept, "--levels", "8", "--max-cycles", "100"]
    answer = call(*line, "--json")
    assert (answer.code, answer.json["counts"]["limit"]) == (1, 4)
    assert answer.err == "binalloc: error: nothing could be run\n"


def test_parquet_has_the_same_rows_with_types(tmp_path: Path, kept: list[str]) -> None:
    pytest.importorskip("pyarrow", reason="PyArrow is not installed: pip install binalloc[parquet]")
    from pyarrow import parquet

    out = tmp_path / "sweep.parquet"
    line = ["sweep", loom("callchain"), *kept, "--levels", "7-9", "-o", str(out), "--json"]
    found = call(*line).json
    written = parquet.read_table(out)
    assert written.to_pylist() == found["rows"]
    assert written.schema.metadata[b"schema_version"] == b"1"
    assert {str(kind) for kind in written.schema.types} == {"int64", "string", "double", "bool"}
    before = out.read_bytes()
    assert call(*line).code == 0
    assert out.read_bytes() == before


def test_bad_input_is_refused(tmp_path: Path, kept: list[str]) -> None:
    alone = tmp_path / "alone.loom"
    shutil.copy(loom("callchain"), alone)
    assert "no launch file beside it; expected " in refused(2, "sweep", str(alone), *kept)
    assert "Give --launch FILE" in refused(2, "sweep", str(alone), *kept)
    assert "standard input has no launch file" in refused(2, "sweep", "-", *kept)
    sample = loom("callchain")
    for option, value, said in (
        ("--levels", "0", "from 1 to 128"), ("--levels", "3-1", "from 1 to 128"), ("--levels", "some", "from 1 to 128"),
        ("--allocators", "local,bset", "'bset' is not one of"), ("--allocators", "", "'' is not one of"),
        ("--schedulers", "lrr,", "'' is not one of"), ("--machine", "gtx680,gtx1", "unknown machine"),
        ("--jobs", "0", "--jobs"), ("--cache", sample, "which is none"), ("--size", "nope", "no such size"),
        ("-o", str(tmp_path), "no file's name"), ("--launch", sample, "not TOML"),
    ):  # fmt: skip
        assert said in refused(2 if said != "not TOML" else 3, "sweep", sample, *kept, option, value), option
    assert "FILES" in refused(2, "sweep")
    assert "cannot read the file" in refused(2, "sweep", str(tmp_path / "no.loom"), *launch("callchain"))
    (tmp_path / "bad.loom").write_bytes(b"\x7fELF")
    refused(3, "sweep", str(tmp_path / "bad.loom"), *launch("callchain"), *kept)
    shutil.copy(sample_file("callchain.toml"), tmp_path / "alone.toml")
    for output in (alone, tmp_path / "alone.toml"):
        before = output.read_bytes()
        assert "overwrite its own input" in refused(2, "sweep", str(alone), *kept, "-o", str(output))
        assert output.read_bytes() == before
    assert not (tmp_path / "kept").exists()


def test_what_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pyarrow", "distributed"):
        monkeypatch.setitem(sys.modules, module, None)
    line = ("sweep", loom("callchain"), "--size", "test", "--cache", str(tmp_path / "kept"))
    assert "Install binalloc[parquet]" in refused(2, *line, "-o", str(tmp_path / "x.parquet"))
    said = refused(2, *line, "--dask", "tcp://127.0.0.1:1")
    assert said.startswith("binalloc: error: --dask: Dask is not installed")
    assert "Install binalloc[distributed]" in said
    assert "--jobs says" in refused(2, *line, "--dask", "tcp://127.0.0.1:1", "--jobs", "2")
