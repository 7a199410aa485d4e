"""Launch files: what is accepted, what is refused and how, what the buffers hold, when results count as the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binalloc.errors import MalformedInput, UsageError
from binalloc.isa.instruction import FunctionInfo, Param
from binalloc.launch.file import check_against, compare, load_launch, parse_launch, reference_outputs
from tests.support.kits.launch.launch_files import base, buffer, changed


def test_numbers_of_the_file_and_of_a_size() -> None:
    launch = parse_launch(base())
    assert (launch.grid, launch.block, launch.dynamic_shared) == ((4, 2, 1), (64, 1, 1), 256)
    assert (launch.blocks, launch.threads_per_block) == (8, 64)
    assert launch.scalars == {"n": b"\xfd\xff\xff\xff", "a": np.float64(2.5).tobytes()}
    assert launch.make_buffers()["x"].shape == (8, 4)
    small = parse_launch(base(), size="test")
    assert (small.grid, small.block, small.dynamic_shared) == ((1, 1, 1), (64, 1, 1), 256)
    assert small.values == {"n": 7, "a": 2.5}
    assert small.make_buffers()["x"].shape == (5,)
    assert parse_launch(base(), size="full") == launch


def test_unknown_size_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="full, test"):
        parse_launch(base(), size="huge")


REFUSED = [
    (("griid",), 3, "griid: unknown key", "grid"),
    (("argument", 0, "shap"), 3, "argument\\[0\\].shap", "shape"),
    (("argument", 1, "init"), "zeros", "argument\\[1\\].init", None),
    (("sizes", "test", "kernel"), "other", "sizes.test.kernel", None),
    (("sizes", "test", "argument", "y"), {"shape": 3}, "sizes.test.argument.y", None),
    (("sizes", "test", "argument", "x"), {"value": 3}, "sizes.test.argument.x.value", None),
    (("sizes", "test", "grid"), 0, "sizes.test.grid", None),
    (("grid",), 0, "grid", None),
    (("grid",), [1, 2, 3, 4], "grid.*wrong rank", None),
    (("grid",), [1, 65536], "grid.*out of range", None),
    (("grid",), [2**31 - 1, 2], "grid.*too many blocks", None),
    (("grid",), True, "grid.*not an integer", None),
    (("grid",), 2.0, "grid.*not an integer", None),
    (("block",), [32, 33], "block.*too many threads", None),
    (("block",), [1, 1, 65], "block.*out of range", None),
    (("dynamic_shared",), -1, "dynamic_shared", None),
    (("kernel",), "", "kernel", None),
    (("argument",), {"name": "x"}, "argument", None),
    (("argument", 0), 3, "argument\\[0\\]", None),
    (("argument", 0, "kind"), "bufer", "kind", "buffer"),
    (("argument", 0, "dtype"), "f8", "dtype", None),
    (("argument", 0, "name"), "n", "same name", None),
    (("argument", 0, "shape"), [], "wrong rank", None),
    (("argument", 0, "shape"), [0], "out of range", None),
    (("argument", 0, "shape"), [1 << 20, 1 << 20, 1 << 20], "too large", None),
    (("argument", 1, "value"), 2**31, "out of range", None),
    (("argument", 1, "value"), 1.5, "not an integer", None),
    (("argument", 1, "value"), 10**4000, "an integer of 13288 bits", None),
    (("argument", 2, "value"), 10**4000, "does not fit", None),
    (("argument", 2, "value"), "x", "not a number", None),
    (("argument", 0, "compare"), "exakt", "compare", "exact"),
    (("argument", 0, "compare"), {"rtol": -1.0}, "negative tolerance", None),
    (("argument", 0, "compare"), {"rtoll": 1.0}, "compare.rtoll", "rtol"),
    (("argument", 0, "init"), {"kind": "random", "distribution": "normal", "low": 0}, "init.low", None),
    (("argument", 0, "init"), {"kind": "random", "low": 1, "high": 1}, "empty range", None),
    (("argument", 0, "init"), {"kind": "random", "seed": -1}, "seed", None),
    (("argument", 0, "init"), {"kind": "random", "low": -1e300}, "does not fit", None),
    (("argument", 0, "init"), {"file": "x.npy", "seed": 1}, "init.seed", None),
    (("argument", 0, "init"), {"kind": "constant"}, "missing key 'value'", None),
    (("reference",), {"file": "r.py"}, "missing key 'function'", None),
    (("reference",), {"file": "", "function": "f"}, "reference.file", None),
]


@pytest.mark.parametrize(("path", "value", "message", "hint"), REFUSED)
def test_refuses_with_place_and_hint(path: tuple[Any, ...], value: Any, message: str, hint: str | None) -> None:
    with pytest.raises(MalformedInput, match=message) as e:
        parse_launch(changed(*path, value=value), path="a/b.toml")
    assert str(e.value).startswith("a/b.toml: ")
    if hint:
        assert f"Did you mean {hint!r}?" in str(e.value)


def test_missing_keys_are_named() -> None:
    for key in ("kernel", "grid", "block"):
        data = base()
        del data[key]
        with pytest.raises(MalformedInput, match=f"missing key '{key}'"):
            parse_launch(data)


def test_buffers_too_large_together_are_refused() -> None:
    data = base()
    big = {"name": "y", "kind": "buffer", "dtype": "f64", "shape": [1 << 25]}
    data["argument"].append(big)
    with pytest.raises(MalformedInput, match="too large together"):
        parse_launch(data)


@pytest.mark.parametrize("init", [{"kind": "random"}, {"kind": "random", "distribution": "uniform", "high": 1.0}])
def test_real_numbers_for_an_integer_buffer_are_refused(init: Any) -> None:
    with pytest.raises(MalformedInput, match="real numbers"):
        parse_launch(buffer("u8", 4, init))


def test_integers_outside_the_type_are_refused() -> None:
    for init in (
        {"kind": "random", "distribution": "integers", "low": 0, "high": 257},
        {"kind": "arange", "start": 250, "step": 2},
        {"kind": "constant", "value": 256},
    ):
        with pytest.raises(MalformedInput, match="out of range"):
            parse_launch(buffer("u8", 4, init))


@pytest.mark.parametrize(
    ("dtype", "init", "expected"),
    [
        ("i16", "zeros", [0, 0, 0, 0]),
        ("u64", "ones", [1, 1, 1, 1]),
        ("i8", {"kind": "arange", "start": 2, "step": -3}, [2, -1, -4, -7]),
        ("u64", {"kind": "arange", "start": 2**64 - 4}, [2**64 - 4, 2**64 - 3, 2**64 - 2, 2**64 - 1]),
        ("f32", {"kind": "arange", "start": 0.5, "step": 0.25}, [0.5, 0.75, 1.0, 1.25]),
        ("f16", {"kind": "arange", "start": 0.5, "step": 0.25}, [0.5, 0.75, 1.0, 1.25]),
        ("f16", {"kind": "constant", "value": 65519.0}, [65504.0] * 4),
        ("f64", {"kind": "constant", "value": 3}, [3.0, 3.0, 3.0, 3.0]),
    ],
)
def test_plain_contents(dtype: str, init: Any, expected: list[Any]) -> None:
    data = parse_launch(buffer(dtype, 4, init)).make_buffers()["x"]
    assert data.tolist() == expected
    assert data.flags.c_contiguous
    assert data.flags.writeable


def test_random_contents_are_numpys_seeded_generator() -> None:
    data = buffer("f32", [3, 5], {"kind": "random", "low": -1, "high": 2, "seed": 9})
    uniform = parse_launch(data).make_buffers()["x"]
    assert np.array_equal(uniform, np.random.default_rng(9).uniform(-1, 2, (3, 5)).astype("f4"))
    launch = parse_launch(buffer("u64", 1000, {"kind": "random", "distribution": "integers", "high": 2**64 - 1}))
    first, again = launch.make_buffers()["x"], launch.make_buffers()["x"]
    assert np.array_equal(first, again)
    assert first.max() > 2**63
    normal = parse_launch(buffer("f64", 4, {"kind": "random", "distribution": "normal", "mean": 5, "std": 0}))
    assert normal.make_buffers()["x"].tolist() == [5.0] * 4


def test_npy_files(tmp_path: Path) -> None:
    good = np.arange(6, dtype="<f4").reshape(2, 3)
    np.save(tmp_path / "good.npy", np.asfortranarray(good))
    np.save(tmp_path / "wide.npy", good.astype("f8"))
    np.save(tmp_path / "objects.npy", np.array([{}, []] * 3, dtype=object).reshape(2, 3), allow_pickle=True)
    np.savez(tmp_path / "zip.npz", good)
    (tmp_path / "zip.npz").rename(tmp_path / "zip.npy")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "good.npy").read_bytes()[:-4])
    (tmp_path / "empty.npy").write_bytes(b"")

    def load(name: str, shape: Any = (2, 3)) -> np.ndarray[Any, Any]:
        data = buffer("f32", list(shape), {"file": name})
        return parse_launch(data, path=str(tmp_path / "l.toml")).make_buffers()["x"]

    loaded = load("good.npy")
    assert np.array_equal(loaded, good)
    assert loaded.flags.c_contiguous
    assert loaded.flags.writeable
    for name in ("wide.npy", "objects.npy", "zip.npy", "cut.npy", "empty.npy", "absent.npy"):
        with pytest.raises(MalformedInput, match=name):
            load(name)
    with pytest.raises(MalformedInput, match=r"found float32 \[2, 3\]; expected float32 \[3, 2\]"):
        load("good.npy", (3, 2))


def test_files_that_cannot_be_read_or_are_not_toml(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load_launch(tmp_path / "absent.toml")
    with pytest.raises(UsageError, match="cannot read"):
        load_launch(tmp_path)
    bad = tmp_path / "bad.toml"
    for content in (b"kernel = ", b"\xff\xfe", b"grid = " + b"9" * 9000, b"x = " + b"[" * 100000):
        bad.write_bytes(content)
        with pytest.raises(MalformedInput, match="the launch file is not TOML"):
            load_launch(bad)


REFERENCE = """
import numpy as np
def reference(inputs, launch):
    inputs["x"] *= np.float32(inputs["a"])
    return {"x": inputs["x"][: launch.grid[0]].repeat(2, axis=0)}
def wrong_type(inputs, launch): return {"x": inputs["x"].astype("f8")}
def wrong_name(inputs, launch): return {"y": inputs["x"]}
def raises(inputs, launch): return 1 / 0
def no_dict(inputs, launch): return [1]
"""


def test_reference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.py").write_text(REFERENCE)

    def run(function: str, file: str = "r.py") -> dict[str, Any]:
        data = changed("reference", value={"file": file, "function": function})
        launch = parse_launch(data, path=str(tmp_path / "l.toml"))
        buffers = launch.make_buffers()
        outputs = reference_outputs(launch, buffers)
        assert np.all(buffers["x"] == 1.0), "the reference works on copies"
        return outputs

    assert np.array_equal(run("reference")["x"], np.full((8, 4), 2.5, "f4"))
    for function, error, message in (
        ("wrong_type", MalformedInput, "float64"),
        ("wrong_name", MalformedInput, "'y'"),
        ("no_dict", MalformedInput, "a dict"),
        ("absent", MalformedInput, "no_dict, raises, reference"),
        ("raises", UsageError, "ZeroDivisionError"),
    ):
        with pytest.raises(error, match=message):
            run(function)
    for source in ("def reference(i, l):\n    raise SystemExit(0)", "raise SystemExit(0)"):
        (tmp_path / "exits.py").write_text(source)
        with pytest.raises((UsageError, MalformedInput), match="SystemExit"):
            run("reference", "exits.py")
    (tmp_path / "prints.py").write_text("print('a')\ndef reference(i, l):\n    print('b')\n    return {}")
    capsys.readouterr()
    run("reference", "prints.py")
    assert capsys.readouterr() == ("", "a\nb\n"), "our standard output may be one JSON object"
    with pytest.raises(UsageError, match="cannot read the reference"):
        run("reference", "absent.py")


def judge(mode: Any, expected: Any, actual: Any, dtype: str = "f32") -> list[Any]:
    launch = parse_launch(buffer(dtype, len(expected), "zeros", mode))
    kind = launch.argument("x").numpy_dtype
    return compare(launch, {"x": np.array(expected, kind)}, {"x": np.array(actual, kind)})


def test_exact_is_bit_by_bit_and_names_the_first_difference() -> None:
    assert not judge("exact", [1.0, np.nan], [1.0, np.nan])
    assert judge("exact", [0.0], [-0.0])
    (d,) = judge("exact", [1.0, 2.0, 3.0, 4.0], [1.0, 2.5, 3.0, 5.0])
    assert (d.name, d.index, d.expected, d.actual, d.count, d.total) == ("x", (1,), 2.0, 2.5, 2, 4)
    assert "x[1]: 2.5, expected 2.0" in str(d)


@pytest.mark.parametrize("mode", ["exact", "unordered"])
@pytest.mark.parametrize(
    ("dtype", "word", "high"), [("f16", "u2", 0x7E00), ("f32", "u4", 0x7FC00000), ("f64", "u8", 0x7FF8 << 48)]
)
def test_two_nans_that_differ_are_told_by_their_bits(mode: str, dtype: str, word: str, high: int) -> None:
    launch = parse_launch(buffer(dtype, 2, "zeros", mode))
    want, got = (np.array([pattern, high + 1], word).view(word.replace("u", "f")) for pattern in (high, high + 64))
    (d,) = compare(launch, {"x": want}, {"x": got})
    shown = high + (64 if mode == "exact" else 1)
    assert f"x[0]: nan {shown:#x}, expected nan {high:#x} ({mode}; " in str(d)


def test_tolerance() -> None:
    inf, nan = np.inf, np.nan
    near = {"rtol": 1e-3, "atol": 1e-6}
    assert not judge(near, [1.0, nan, inf, -inf, 0.0], [1.0009, nan, inf, -inf, 5e-7])
    for a, b in ((1.0, 1.0012), (nan, 1.0), (1.0, nan), (inf, -inf), (inf, 3e38), (0.0, 2e-6)):
        assert judge(near, [a], [b]), (a, b)
    assert not judge({"atol": 1}, [0, 2**64 - 1], [1, 2**64 - 2], "u64")
    assert judge({"atol": 1}, [0], [2**64 - 1], "u64")


def test_unordered_and_ignore() -> None:
    assert not judge("unordered", [3, 1, 2], [2, 3, 1], "i32")
    assert judge("unordered", [3, 1, 1], [3, 3, 1], "i32")
    assert not judge("ignore", [1, 2], [3, 4], "i32")


def test_compare_refuses_results_of_another_shape() -> None:
    launch = parse_launch(buffer("f32", 4, "zeros"))
    with pytest.raises(UsageError, match=r"found float32 \[3\]"):
        compare(launch, {"x": np.zeros(4, "f4")}, {"x": np.zeros(3, "f4")})
    with pytest.raises(UsageError, match="found nothing"):
        compare(launch, {"x": np.zeros(4, "f4")}, {})


def test_launches_that_contradict_the_binary() -> None:
    launch = parse_launch(base())
    params = [Param("x", 0, 8), Param("n", 8, 4), Param("a", 16, 8)]
    check_against(launch, FunctionInfo(params=params, block=(64, 1, 1), max_threads=64))
    for info, message in (
        (FunctionInfo(params=params, block=(128, 1, 1)), "block contradicts"),
        (FunctionInfo(params=params, max_threads=32), "launch bound"),
        (FunctionInfo(params=params[:2]), "no such parameter"),
        (FunctionInfo(params=[*params, Param("m", 24, 4)]), "lacks a parameter"),
        (FunctionInfo(params=[Param("x", 0, 4), *params[1:]]), "size contradicts"),
        (FunctionInfo(params=params, kind="function"), "not a kernel"),
    ):
        with pytest.raises(UsageError, match=message):
            check_against(launch, info)


def test_a_buffer_that_lost_its_parameter_to_a_pointer_is_told_of() -> None:
    """Whether its parameter has nothing, or what comes behind it."""
    entry = {"kind": "buffer", "dtype": "f32", "shape": 8}
    data = {"kernel": "k", "grid": 1, "block": 1, "argument": [
        {"name": "x"} | entry, {"name": "n", "kind": "scalar", "dtype": "i32", "value": 1},
        {"name": "back", "kind": "pointer", "argument": "x", "at": 16},
    ]}  # fmt: skip
    for sizes, message in (((8, 4, 8), "the argument's size contradicts"), ((4, 8, 8), "lacks a parameter of")):
        info = FunctionInfo(params=[Param(f"k_param_{i}", 8 * i, size) for i, size in enumerate(sizes)])
        with pytest.raises(UsageError, match=message) as caught:
            check_against(parse_launch(data), info)
        assert caught.value.remedy == (
            "x takes no parameter of its own, as back has a pointer to it: where it is to take one, say "
            "`parameter = true` there."
        )
    info = FunctionInfo(params=[Param(f"k_param_{i}", 8 * i, size) for i, size in enumerate((8, 4, 8))])
    data["argument"][0]["parameter"] = True
    check_against(parse_launch(data), info)
    with pytest.raises(UsageError, match="lacks a parameter of") as caught:
        check_against(parse_launch(base()), FunctionInfo(params=[Param("z", 0, 8)]))
    assert caught.value.remedy is None
