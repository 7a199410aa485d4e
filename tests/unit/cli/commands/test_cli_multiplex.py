"""`multiplex`: what it prints, what it refuses, and exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.kits.cli import call, loom, refused
from tests.support.paths import sample_file

pytestmark = pytest.mark.usefixtures("shared_versions")


def arguments(name: str, machine: str = "gtx285") -> list[str]:
    launch = str(sample_file(f"{name}.toml"))
    return ["multiplex", str(sample_file(f"{name}.ptx")), "--launch", launch, "--size", "test", "--machine", machine]


@pytest.mark.rotates("long commands")
def test_fourier_transform_gains_where_shared_memory_limits_blocks() -> None:
    found = call(*arguments("fourierTransform"), "--json").json
    assert (found["kernel"], found["machine"]) == ("FFT", "gtx285")
    assert (found["output"], found["launch_output"]) == (None, None)
    assert (found["original"]["blocks_per_sm"], found["original"]["limits"]) == (1, ["shared"])
    schemes = [s for s in found["schemes"] if not s["own_words"]]
    kinds = [("vtb", 2), ("vtb", 4), ("hw", None)]
    named = [(s["scheme"], s["merge"], s["shorter_regions"]) for s in schemes]
    assert named == [(*kind, shorter) for shorter in (False, True) for kind in kinds]
    assert all(s["same_results"] and s["proven"] for s in (*schemes, found["shorter"]))
    assert all(s["regions"] == 4 for s in schemes)
    assert [s["shared_bytes"] for s in schemes] == [8736, 8736, 48] * 2
    assert 1 < schemes[0]["speedup"] < schemes[1]["speedup"] < schemes[2]["speedup"]


@pytest.mark.rotates("long commands")
def test_shorter_regions_alone_are_reported_apart() -> None:
    found = call(*arguments("convolution"), "--scheme", "vtb", "--merge", "4", "--regions", "shorter", "--json").json
    (scheme,), alone = found["schemes"], found["shorter"]
    assert (alone["scheme"], alone["merge"], alone["over"]) == ("shorter", None, None)
    assert alone["proven"]
    assert alone["same_results"]
    assert alone["speedup"] < 1.1 < 1.5 < scheme["speedup"]
    assert "shorter" not in call(*arguments("convolution"), "--scheme", "hw", "--regions", "as-is", "--json").json


@pytest.mark.rotates("long commands")
def test_the_report_begins_with_its_answer() -> None:
    out = call(*arguments("fourierTransform"), "--scheme", "hw", "--over", "1").out
    assert out.startswith("FFT: hw with 1 more")
    assert "has 1 block per SM, limited by shared: " in out
    assert "vtb" not in out
    assert out.endswith("No file was written (-o FILE).\n")


@pytest.mark.rotates("long commands")
def test_the_original_has_the_same_chances() -> None:
    """Speedups are over the fastest of the input, another order of it, and other numbers of registers."""
    out = call(*arguments("scalarProducts"), "--scheme", "hw", "--regions", "as-is").out
    assert "The original (the original, in another order) has " in out


@pytest.mark.rotates("long commands")
@pytest.mark.parametrize("regions", ["as-is", "shorter"])
def test_a_proven_version_is_written_and_runs(tmp_path: Path, regions: str) -> None:
    made = str(tmp_path / "fft.loom")
    options = ("--scheme", "hw", "--regions", regions)
    found = call(*arguments("fourierTransform"), *options, "-o", made, "--json").json
    assert found["output"] == made
    (scheme,) = found["schemes"]
    launch = str(sample_file("fourierTransform.toml"))
    run = call("run", made, "--launch", launch, "--size", "test", "--check", "--race", "--json").json
    assert run["cycles"] == scheme["cycles"]
    assert run["stats"]["shared_allocations"] > 0
    assert "BAR.ALLOC" in call("disasm", made).out
    other = tmp_path / "fft.toml"
    other.write_text(sample_file("fourierTransform.toml").read_text().replace("block = 64", "block = 128"))
    assert "the block contradicts" in call("run", made, "--launch", str(other), "--size", "test").err


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any]:
    """A written binary of merged blocks, and what the command printed."""
    made = str(tmp_path_factory.mktemp("merged") / "fft.loom")
    return made, call(*arguments("fourierTransform"), "--scheme", "vtb", "--merge", "2", "-o", made, "--json").json


LAUNCH = ("--launch", str(sample_file("fourierTransform.toml")), "--size", "test")


@pytest.mark.rotates("long commands")
def test_the_faster_of_two_proven_versions_is_written_and_runs_with_the_originals_launch(
    merged: tuple[str, Any],
) -> None:
    made, found = merged
    assert found["output"] == made
    run = call("run", made, *LAUNCH, "--check", "--race", "--reference", "--json").json
    assert run["cycles"] == min(s["cycles"] for s in found["schemes"] if not s["own_words"])
    assert run["reference"] == "same"


@pytest.mark.rotates("long commands")
def test_merged_blocks_are_proven_again_and_compared_with_the_originals(merged: tuple[str, Any]) -> None:
    answer = call("verify", str(sample_file("fourierTransform.ptx")), merged[0], *LAUNCH, "--machine", "gtx285")
    assert answer.code == 0
    assert "in turns, vtb of 2, shorter regions: proven for blocks of 64 x 1 x 1\n" in answer.out
    assert "FFT: symbolic check passed\n" in answer.out
    assert "emulated results same" in answer.out


@pytest.mark.rotates("long commands")
def test_other_commands_adapt_the_launch(merged: tuple[str, Any]) -> None:
    assert call("recommend", merged[0], *LAUNCH, "--machine", "gtx285", "--policy", "model").code == 0
    assert call("rewrite", merged[0], *LAUNCH, "--machine", "gtx285", "--registers", "40").code == 0


@pytest.mark.parametrize(("record", "message"), [
    ({"count": 2}, "the record does not say how blocks were merged; found {'count': 2}"),
    ({"count": 2, "block": [64, 1, 1], "axis": 3}, "the record does not say how blocks were merged"),
    ({"count": 200, "block": [64, 1, 1], "axis": 0}, "the record does not say how blocks were merged"),
    ("two", "the record does not say how blocks were merged; found two"),
])  # fmt: skip
def test_a_record_that_contradicts_is_refused(
    merged: tuple[str, Any], tmp_path: Path, record: object, message: str
) -> None:
    from binalloc.isa.sets.files import load, write_module

    module = load(merged[0])
    module.provenance = [*module.provenance, {"kernel": "FFT", "merged": record}]
    made = tmp_path / "wrong.loom"
    made.write_bytes(write_module(module))
    assert message in refused(3, "run", str(made), *LAUNCH)


def test_merged_blocks_have_the_dynamic_shared_memory_of_the_original(merged: tuple[str, Any], tmp_path: Path) -> None:
    text = sample_file("fourierTransform.toml").read_text()
    launch = tmp_path / "launch.toml"
    launch.write_text(f"dynamic_shared = 64\n{text}")
    said = refused(3, "run", merged[0], "--launch", str(launch), "--size", "test")
    assert "the kernel was multiplexed for other dynamic shared memory than the launch adds" in said
    assert "found 64 bytes" in said


def test_a_record_without_the_parameter_is_refused(tmp_path: Path) -> None:
    from binalloc.isa.sets.files import load, write_module

    given = str(tmp_path / "given.loom")
    call("import-ptx", str(sample_file("fourierTransform.ptx")), "-o", given, "--machine", "gtx285")
    module = load(given)
    how = {"count": 2, "block": [64, 1, 1], "axis": 0}
    module.provenance = [*module.provenance, {"kernel": "FFT", "merged": how}]
    made = tmp_path / "wrong.loom"
    made.write_bytes(write_module(module))
    said = refused(3, "run", str(made), *LAUNCH)
    assert "the record says that blocks were merged, but the kernel lacks a parameter" in said
    assert "expected original_grid, 4 bytes, as the last one" in said


@pytest.mark.parametrize("scheme", [("hw",), ("vtb", "--merge", "2")])
def test_without_a_proof_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: tuple[str, ...]
) -> None:
    from binalloc.pipeline.multiplex import multiplexing

    monkeypatch.setattr(multiplexing, "unproven_step", lambda *_: "something")
    made = tmp_path / "fft.loom"
    answer = call(*arguments("fourierTransform"), "--scheme", *scheme, "-o", str(made))
    assert answer.code == 1
    assert f"No proof of {scheme[0]}" in answer.out
    assert ": something\n" in answer.out
    assert "FFT: none of its versions is proven: nothing is written\n" in answer.err
    assert not made.exists()


def test_a_kernel_whose_regions_cannot_be_shorter_is_multiplexed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from binalloc.errors import Refused
    from binalloc.pipeline.multiplex import multiplexing

    def refuse(*_: object) -> None:
        raise Refused("too many registers", found="many", expected="few")

    monkeypatch.setattr(multiplexing, "shorter_regions", refuse)
    out = call(*arguments("fourierTransform"), "--scheme", "hw").out
    assert out.startswith("FFT: hw is ")
    why = "too many registers; found many; expected few"
    assert f"No shorter regions alone; hw, shorter regions: {why}\n" in out


@pytest.mark.rotates("long commands")
def test_shared_memory_is_in_use_for_a_part_of_a_blocks_life() -> None:
    """As measured by hand: 12 per cent of FFT's life, nearly all of histogram's."""
    assert call(*arguments("fourierTransform"), "--scheme", "hw", "--share", "--json").json["region_share"] == 0.1199
    assert call(*arguments("histogram"), "--scheme", "hw", "--share", "--json").json["region_share"] == 0.9727
    out = call(*arguments("fourierTransform"), "--scheme", "hw", "--share").out
    assert "Its shared memory is in use for 12.0% of a block's life.\n" in out


def test_what_does_not_fit_is_said() -> None:
    answer = call(*arguments("slidingMD5"), "--scheme", "hw")
    assert answer.code == 1
    assert answer.out.startswith("STO: no version that uses its shared memory in turns could be built and run\n")
    assert "\nNo hw; hw, shorter regions: no block fits on an SM of gtx285" in answer.out
    assert "STO: its shared memory cannot be multiplexed: no block fits on an SM of gtx285" in answer.err


def test_marching_cubes_has_a_private_part_of_16_rows(tmp_path: Path) -> None:
    made = str(tmp_path / "mc.loom")
    options = ("--scheme", "co-hw", "--split", "vertices=16", "--regions", "as-is")
    found = call(*arguments("marchingCubes"), *options, "-o", made, "--json").json
    (scheme,) = found["schemes"]
    assert (scheme["scheme"], scheme["merge"], scheme["regions"]) == ("co-hw", None, 1)
    assert (scheme["private_bytes"], scheme["public_bytes"]) == (6144 + 108, 3072 + 8)
    assert scheme["divided"] == [{"name": "_ZZ2MCE8vertices", "private_bytes": 6144, "bytes": 9216}]
    assert (scheme["same_results"], scheme["proven"], found["output"]) == (True, True, made)
    launch = str(sample_file("marchingCubes.toml"))
    run = call("run", made, "--launch", launch, "--size", "test", "--check", "--race", "--json").json
    assert run["cycles"] == scheme["cycles"]


@pytest.mark.rotates("long commands")
def test_merged_blocks_have_private_copies() -> None:
    options = ("--scheme", "co-vtb", "--split", "counters=31/32", "--regions", "as-is")
    found = call(*arguments("histogram"), *options, "--json").json
    (scheme,) = found["schemes"]
    assert (scheme["merge"], scheme["private_bytes"], scheme["public_bytes"]) == (2, 7936, 256)
    assert scheme["shared_bytes"] == 2 * 7936 + 256 + 32
    assert (scheme["same_results"], scheme["proven"]) == (True, True)
    out = call(*arguments("histogram"), *options).out
    assert (
        "co-vtb of 2: 7,936 bytes private for each virtual block, 256 in turns; private: _ZZ2HGE8counters up to byte "
        "7,936 of 8,192\n"
    ) in out


@pytest.mark.rotates("long commands")
def test_the_best_cut_is_chosen() -> None:
    (scheme,) = call(*arguments("histogram"), "--scheme", "co-vtb", "--regions", "as-is", "--json").json["schemes"]
    assert (scheme["shared_bytes"], scheme["same_results"]) == (16_384, True)
    (scheme,) = call(*arguments("slidingMD5"), "--scheme", "co-hw", "--regions", "as-is", "--json").json["schemes"]
    assert "no part of shared memory can be private" in scheme["refused"]


@pytest.mark.parametrize(("options", "message"), [
    (["--merge", "1"], "--merge"),
    (["--regions", "long"], "--regions"),
    (["--merge", "9"], "--merge"),
    (["--scheme", "other"], "--scheme"),
    (["--scheme", "vtb", "-o", "x.loom"], "one version alone is written"),
    (["--merge", "2", "-o", "x.loom"], "one version alone is written"),
    (["-o", "x.loom"], "one version alone is written"),
    (["--scheme", "hw", "--merge", "2"], "--merge belongs to another scheme"),
    (["--scheme", "vtb", "--over", "2"], "--over belongs to another scheme"),
    (["--scheme", "co-hw", "--merge", "2"], "--merge belongs to another scheme"),
    (["--scheme", "co-vtb", "--over", "2"], "--over belongs to another scheme"),
    (["--scheme", "co-vtb", "-o", "x.loom"], "one version alone is written"),
    (["--scheme", "vtb", "--split", "real=1"], "--split belongs to another scheme"),
    (["--scheme", "hw", "--split", "real=1"], "--split belongs to another scheme"),
    (["--split", "real=1"], "--split belongs to another scheme"),
    (["--scheme", "co-hw", "--split", "real"], "not clear how to divide"),
])  # fmt: skip
def test_usage(options: list[str], message: str) -> None:
    assert message in refused(2, *arguments("fourierTransform"), *options)


@pytest.mark.parametrize(("scheme", "split", "message"), [
    ("co-hw", "other=1", "no such shared variable; found other=1; expected one of _ZZ3FFTE8pointers_$_0, "),
    ("co-vtb", "real=3/2", "an index is outside of a shared variable; found real=3/2; expected 0 to 2"),
])  # fmt: skip
def test_wrong_splits(scheme: str, split: str, message: str) -> None:
    answer = call(*arguments("fourierTransform"), "--scheme", scheme, "--split", split)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err


def test_a_launch_is_needed() -> None:
    assert "--launch" in refused(2, "multiplex", str(sample_file("fourierTransform.ptx")))


@pytest.mark.parametrize("scheme", ["vtb", "co-hw", "auto"])
def test_kernels_without_shared_memory_are_refused_before_any_run(scheme: str) -> None:
    line = ("multiplex", loom("nbody"), "--launch", loom("nbody").replace(".loom", ".toml"), "--scheme", scheme)
    answer = call(*line)  # at full size: nothing is run
    assert (answer.code, answer.out) == (1, "")
    assert "nbody: no block waits for shared memory; found no access to shared memory; expected " in answer.err


def test_blocks_that_would_be_too_large_are_not_merged(tmp_path: Path) -> None:
    """Two blocks of 512 threads make one, four do not. The other versions are tried."""
    kernel, launch = tmp_path / "k.lasm", tmp_path / "k.toml"
    kernel.write_text(""".kernel k
.param out, 8
.shared_bytes 2048
    S2R R0, SR_TID.X
    MOV R2, c[0][out]
    MOV R3, c[0][out+0x4]
    IMAD.WIDE R2, R0, 0x4, R2
    SHF.L.U32 R1, R0, 0x2, RZ
    STS.32 [R1], R0
    BAR.SYNC 0
    LDS.32 R4, [R1]
    STG.32 [R2], R4
    EXIT
.end
""")
    buffer = '[[argument]]\nname = "out"\nkind = "buffer"\ndtype = "u32"\nshape = [512]\ninit = "zeros"\n'
    launch.write_text(f'kernel = "k"\ngrid = 4\nblock = 512\n{buffer}')
    made = str(tmp_path / "k.loom")
    call("asm", str(kernel), "-o", made)
    found = call("multiplex", made, "--launch", str(launch), "--machine", "t4", "--regions", "as-is", "--json").json
    refused = {(s["scheme"], s["merge"]): s["refused"] for s in found["schemes"]}
    assert "more threads than a block of the machine can have" in refused["vtb", 4]
    assert (refused["vtb", 2], refused["hw", None]) == (None, None)


def test_a_version_that_does_not_end_is_noted() -> None:
    """The original ends within the limit, and merged blocks do not."""
    options = ("--scheme", "vtb", "--regions", "as-is", "--max-cycles", "3500")
    found = call(*arguments("reduction"), *options, "--json").json
    assert found["original"]["cycles"] < 3500
    assert [scheme["merge"] for scheme in found["schemes"]] == [2, 4]
    assert all("did not end within the cycle limit (vtb)" in scheme["refused"] for scheme in found["schemes"])
    assert all("Raise the limit (--max-cycles N" in scheme["refused"] for scheme in found["schemes"])
    assert all("speedup" not in scheme for scheme in found["schemes"])


def test_the_share_of_a_kernel_without_regions(tmp_path: Path) -> None:
    """Its versions are reported all the same, and the share is said not to be measurable: all blocks store the same."""
    kernel, launch = tmp_path / "k.lasm", tmp_path / "k.toml"
    kernel.write_text(""".kernel k
.param out, 8
.shared_bytes 4
    MOV R0, c[0][out]
    STS.32 [RZ], R0
    BAR.SYNC 0
    LDS.32 R2, [RZ]
    MOV R4, c[0][out]
    MOV R5, c[0][out+0x4]
    STG.32 [R4], R2
    EXIT
.end
""")
    launch.write_text('kernel = "k"\ngrid = 2\nblock = 32\n[[argument]]\nname = "out"\nkind = "buffer"\ndtype = "u32"\n'
                      "shape = 4\n")  # fmt: skip
    made = str(tmp_path / "k.loom")
    assert call("asm", str(kernel), "-o", made).code == 0
    options = ("multiplex", made, "--launch", str(launch), "--machine", "gtx285", "--scheme", "hw", "--share")
    found = call(*options, "--json").json
    assert found["region_share"] is None
    assert "shared memory is not used" in found["region_share_refused"]
    assert "cannot be measured: " in call(*options).out


def test_a_limit_leaves_the_figures_that_were_measured() -> None:
    """Merged blocks of two take 3,983 and 3,786 cycles with 3 resident, and 3,793 with 4. Of each number of blocks the
    one that ends counts, and a number at which none ends is slower."""
    for limit in ("3788", "3800"):
        options = ("--scheme", "vtb", "--merge", "2", "--regions", "as-is", "--max-cycles", limit)
        (scheme,) = call(*arguments("reduction"), *options, "--json").json["schemes"]
        assert (scheme["refused"], scheme["cycles"], scheme["blocks_per_sm"]) == (None, 3786, 3)


def test_a_share_that_comes_to_the_limit_is_noted() -> None:
    """With barriers at the bounds of its regions the kernel takes longer than the original."""
    options = ("--scheme", "vtb", "--regions", "as-is", "--share", "--max-cycles", "3170")
    found = call(*arguments("reduction"), *options, "--json").json
    assert (found["original"]["cycles"], found["region_share"]) == (3133, None)
    assert "did not end within the cycle limit" in found["region_share_refused"]


# -- launches of merged blocks as files


@pytest.mark.rotates("long commands")
def test_the_launch_file_is_written_for_merged_blocks(tmp_path: Path) -> None:
    made, launch = str(tmp_path / "made.loom"), tmp_path / "there" / "made.toml"
    launch.parent.mkdir()
    given = arguments("fourierTransform")
    wanted = ("--scheme", "vtb", "--merge", "2", "--regions", "as-is", "-o", made)
    found = call(*given, *wanted, "--launch-out", str(launch), "--json").json
    assert (found["output"], found["launch_output"]) == (made, str(launch))
    runs = [
        call("run", made, "--launch", file, "--size", "test", "--reference", "--json").json
        for file in (str(launch), str(sample_file("fourierTransform.toml")))
    ]
    assert runs[0]["cycles"] == runs[1]["cycles"]
    assert [run["reference"] for run in runs] == ["same", "same"]
    assert 'name = "original_grid"' in launch.read_text()


def test_blocks_that_are_not_merged_need_no_other_launch(tmp_path: Path) -> None:
    made, launch = str(tmp_path / "made.loom"), str(tmp_path / "made.toml")
    said = refused(2, *arguments("fourierTransform"), "--scheme", "hw", "-o", made, "--launch-out", launch)
    assert "--launch-out belongs to another scheme" in said


@pytest.mark.parametrize(("given", "message"), [
    (("--scheme", "vtb", "--merge", "2", "--launch-out", "{}/l.toml"), "--launch-out goes with -o"),
    (("--scheme", "vtb", "--merge", "2", "-o", "-", "--launch-out", "-"), "both want standard output"),
    (("--scheme", "vtb", "--merge", "2", "-o", "{}/a", "--launch-out", "{}/a"), "-o and --launch-out both write this"),
    (("--scheme", "vtb", "--merge", "2", "-o", "{}/a", "--launch-out", "{}/no/l"), "output's folder does not exist"),
    (("--scheme", "vtb", "--merge", "2", "-o", "{}/a", "--launch-out", "{}/given.toml"), "overwrite its own input"),
])  # fmt: skip
def test_a_launch_file_that_cannot_be_written_is_refused(tmp_path: Path, given: tuple[str, ...], message: str) -> None:
    launch = tmp_path / "given.toml"
    launch.write_text(sample_file("fourierTransform.toml").read_text())
    first = ("multiplex", str(sample_file("fourierTransform.ptx")), "--launch", str(launch), "--machine", "gtx285")
    assert message in refused(2, *first, *(part.format(tmp_path) for part in given))
