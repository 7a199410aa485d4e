"""Files that fill buffers: what each format gives, and what is refused in which words."""

from __future__ import annotations

import importlib.util
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from binalloc.errors import MalformedInput, UsageError
from binalloc.launch.contents.read import FileFormat
from binalloc.launch.file import parse_launch
from tests.support.kits.launch.launch_files import buffer

PAIR = {"fields": [{"name": "n", "dtype": "u8"}, {"name": "x", "dtype": "f32"}, {"name": "to", "dtype": "ptr"}]}


def load(folder: Path, init: Any, dtype: str = "f32", shape: Any = 3, **more: Any) -> Any:
    data = buffer(dtype, shape, init) | {"types": {"Pair": PAIR}} | more
    return parse_launch(data, path=str(folder / "l.toml")).make_buffers()["x"]


@pytest.mark.parametrize("dtype", ["i8", "u16", "i64", "f16", "f64", "c64", "c128", "bool"])
def test_formats_hold_the_same_numbers(dtype: str, tmp_path: Path) -> None:
    numbers = np.array([[0, 1, 1], [1, 0, 1]]).astype(load(tmp_path, "zeros", dtype).dtype)
    np.save(tmp_path / "a.npy", np.asfortranarray(numbers))
    np.savez(tmp_path / "a.npz", first=numbers + numbers, second=numbers)
    np.savez_compressed(tmp_path / "b.npz", second=numbers)
    (tmp_path / "a.bin").write_bytes(b"head" + numbers.tobytes() + b"tail")
    (tmp_path / "a.csv").write_text("# three\n0,1, 1\n\n1,0,1\n")
    (tmp_path / "a.txt").write_text("x\ty\tz\n0\t1\t1\n1\t0\t1")
    for init in (
        {"file": "a.npy"}, {"file": "a.npz", "array": "second"}, {"file": "b.npz", "array": "second"},
        {"file": "a.bin", "format": "raw", "offset": 4}, {"file": "a.csv"},
        {"file": "a.txt", "format": "csv", "delimiter": "\t", "skip": 1},
    ):  # fmt: skip
        found = load(tmp_path, init, dtype, [2, 3])
        assert found.dtype == numbers.dtype
        assert np.array_equal(found, numbers)
        assert found.flags.writeable


def test_what_numbers_texts_may_be(tmp_path: Path) -> None:
    for dtype, text, expected in (
        ("f32", "1e3,-.5,inf\nnan", [1000, -0.5, np.inf, np.nan]),
        ("i8", "-128\n+127\n0x1f\n-0X1F", [-128, 127, 31, -31]),
        ("u64", "18446744073709551615,0,1,2", [2**64 - 1, 0, 1, 2]), ("bool", "true,False,1,0", [1, 0, 1, 0]),
        ("c64", "1+2j, 3,-1j,(1-1j)", [1 + 2j, 3, -1j, 1 - 1j]), ("bf16", "1,-2.5,0,3", [0x3F80, 0xC020, 0, 0x4040]),
    ):  # fmt: skip
        (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
        found = load(tmp_path, {"file": "x.csv"}, dtype, 4)
        assert np.array_equal(found, np.array(expected, found.dtype), equal_nan=dtype == "f32"), dtype


def test_structs_and_pointers_from_files(tmp_path: Path) -> None:
    dtype = load(tmp_path, "zeros", "Pair").dtype
    structs = np.array([(1, 0.5, 0), (2, 1.5, 0), (3, 2.5, 0)], dtype)
    np.save(tmp_path / "s.npy", structs)
    np.savez(tmp_path / "s.npz", s=structs)
    (tmp_path / "s.bin").write_bytes(structs.tobytes())
    np.save(tmp_path / "to.npy", np.array([2, -1, 3], "i8"))
    np.save(tmp_path / "far.npy", np.array([2, -1, 4], "i8"))
    links = {"to": {"file": "to.npy", "argument": "x"}}
    for init in ({"file": "s.npy"}, {"file": "s.npz", "array": "s"}, {"file": "s.bin", "format": "raw"}):
        assert np.array_equal(load(tmp_path, init, "Pair"), structs)
        launch = parse_launch(
            buffer("Pair", 3, init | {"fields": links}) | {"types": {"Pair": PAIR}}, path=str(tmp_path / "l.toml")
        )
        found = launch.make_buffers()["x"]
        assert np.array_equal(found["x"], structs["x"])
        assert [launch.pointee(int(p)) for p in found["to"]] == [("x", 32), None, ("x", 48)]
    with pytest.raises(MalformedInput, match="a pointer beyond the end of x; found element 4; expected at most 3"):
        load(tmp_path, {"file": "s.npy", "fields": {"to": {"file": "far.npy", "argument": "x"}}}, "Pair")
    structs["to"][1] = 5
    np.save(tmp_path / "s.npy", structs)
    with pytest.raises(MalformedInput, match="a file has no pointers; found addresses in the field to"):
        load(tmp_path, {"file": "s.npy"}, "Pair")


def test_bfloat16_is_read_as_bits_or_as_floats(tmp_path: Path) -> None:
    np.save(tmp_path / "bits.npy", np.array([0x3F80, 0x4000, 0xC040], "u2"))
    np.save(tmp_path / "wide.npy", np.array([1 + 2.0**-8, 2, -3], "f4"))
    for name in ("bits.npy", "wide.npy"):
        assert load(tmp_path, {"file": name}, "bf16").tolist() == [0x3F80, 0x4000, 0xC040]
    np.save(tmp_path / "half.npy", np.zeros(3, "f2"))
    with pytest.raises(MalformedInput, match=r"found float16 \[3\]; expected bfloat16 as uint16 or float32 \[3\]"):
        load(tmp_path, {"file": "half.npy"}, "bf16")


def npz(method: int = zipfile.ZIP_DEFLATED, **entries: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(f"{name}.npy", data)
    return stream.getvalue()


def saved(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


GOOD = saved(np.zeros(3, "f4"))
ARCHIVE = npz(good=GOOD, objects=saved(np.array([{}, [], 3], object)), bomb=GOOD + bytes(1 << 24), cut=GOOD[:-1])
_STORED = io.BytesIO()
np.savez(_STORED, good=np.ones(3, "f4"))
PLAIN = _STORED.getvalue()
BAD_FILES: list[tuple[str, bytes, dict[str, Any], str]] = [
    ("x.npz", ARCHIVE, {"array": "other"}, r"no such array; found 'other'; expected 'good', 'objects', 'bomb', 'cut'"),
    ("x.npz", ARCHIVE, {"array": "objects"}, r"found '\|O' \[3\]; expected float32"),
    ("x.npz", ARCHIVE, {"array": "bomb"}, "not as long as its header says; found more than 12 bytes of data"),
    ("x.npz", ARCHIVE, {"array": "cut"}, "found 11 bytes of data; expected 12"),
    ("x.npz", npz(zipfile.ZIP_LZMA, good=GOOD), {"array": "good"}, "compressed in another way; found method 14"),
    ("x.npz", ARCHIVE[:100], {"array": "good"}, "the .npz file is damaged"),
    ("x.npz", b"", {"array": "good"}, "the .npz file is damaged"),
    ("x.npz", PLAIN.replace(b"\0\0\x80?", b"\0\0\0?"), {"array": "good"}, "the .npz file is damaged; found \"Bad CRC"),
    ("x.bin", bytes(11), {"format": "raw"}, "too short; found 11 bytes; expected 12 bytes behind the first 0"),
    ("x.bin", bytes(12), {"format": "raw", "offset": 1}, "too short"),
    ("x.csv", b"1,2", {}, "fewer values than the argument has; found 2; expected 3"),
    ("x.csv", b"1,2\n3\n4", {}, "more values than the argument has, from line 3 on; expected 3 in all"),
    ("x.csv", b"1,2\nthree", {}, "line 2, value 1: not a number; found 'three'; expected one of type f32"),
    ("x.csv", b"1,,3", {}, "line 1, value 2: not a number; found ''"),
    ("x.csv", b"1,1_0,3", {}, "not a number; found '1_0'"),
    ("x.csv", b"1,1e39,3", {}, "line 1, value 2: does not fit its type; found 1e\\+39"),
    ("x.csv", b"1,2,\xff\xfe", {}, "not text"),
    ("x.csv", b"1," + b"9" * (1 << 20), {}, "line 1 is too long"),
    ("x.csv", b"1;2;3", {}, "not a number; found '1;2;3'"),
    ("x.png", b"\x89PNG", {}, "8 or 16 bits a channel; found f32"),
]


@pytest.mark.parametrize(("name", "content", "more", "message"), BAD_FILES, ids=lambda v: str(v)[:25])
def test_files_that_are_not_the_arguments(
    name: str, content: bytes, more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(MalformedInput, match=f"l.toml: argument x: init.file .*{name}: .*{message}"):
        load(tmp_path, {"file": name} | more)


def test_integers_and_shapes_of_texts(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1,2\n3,4\n")
    assert load(tmp_path, {"file": "x.csv"}, "u8", [2, 2]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(MalformedInput, match="line 1 has another number of values; found 2; expected 4"):
        load(tmp_path, {"file": "x.csv"}, "u8", [1, 4])
    for text, message in (
        ("nan", "not an integer"), ("1.5", "not an integer"), ("x", "not a number"), ("256", "out of range"),
        ("-1", "out of"),
    ):  # fmt: skip
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(MalformedInput, match=f"line 1, value 1: {message}"):
            load(tmp_path, {"file": "x.csv"}, "u8", 1)


def test_truth_values_are_bytes_of_0_and_1(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\0\1\2")
    with pytest.raises(MalformedInput, match="not truth values; found 2; expected bytes 0 and 1"):
        load(tmp_path, {"file": "x.bin", "format": "raw"}, "bool")
    inner = {"fields": [{"name": "f", "dtype": "bool", "shape": 2}, {"name": "x", "dtype": "u8"}]}
    outer = {"fields": [{"name": "n", "dtype": "u8"}, {"name": "in", "dtype": "Inner", "shape": 2}]}
    types = {"Inner": inner, "Outer": outer}
    (tmp_path / "x.raw").write_bytes(bytes((9, 0, 1, 9, 1, 0, 9)))
    assert load(tmp_path, {"file": "x.raw"}, "Outer", 1, types=types)["in"]["f"].tolist() == [[[0, 1], [1, 0]]]
    (tmp_path / "x.raw").write_bytes(bytes((9, 0, 1, 9, 1, 3, 9)))
    with pytest.raises(MalformedInput, match="not truth values; found 3; expected bytes 0 and 1"):
        load(tmp_path, {"file": "x.raw"}, "Outer", 1, types=types)


@pytest.mark.parametrize("text", ["1e39", "1+1e39j", "\u0661", "1+_2j"])
def test_complex_numbers_of_texts_are_as_strict_as_others(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    with pytest.raises(MalformedInput, match=r"not a number|does not fit its type"):
        load(tmp_path, {"file": "x.csv"}, "c64", 1)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"file": "x.npz"}, "missing key 'array'"), ({"file": "x.npz", "array": ""}, "not the name of an array"),
        ({"file": "x.npy", "array": "a"}, "unknown key"), ({"file": "x.npy", "format": "h5"}, "not a known value"),
        ({"file": "x.bin", "format": "raw", "offset": -1}, "out of range"),
        ({"file": "x.csv", "delimiter": "ab"}, "not a delimiter"), ({"file": "x.csv", "delimiter": "1"}, "not a delim"),
        ({"file": "x.csv", "skip": 1.0}, "not an integer"), ({"file": ""}, "not a file name"),
        ({"file": "a\0b"}, "not a file name"), ({"file": "x.npy", "fields": {}}, "unknown key"),
        ({"file": "x.npy", "argument": "x"}, "unknown key"),
    ],
)  # fmt: skip
def test_what_is_said_of_files_is_checked(init: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match=message):
        load(tmp_path, init)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for end in FileFormat:
        more = {"array": "a"} if end == FileFormat.NPZ else {}
        with pytest.raises(MalformedInput, match=f"argument x: init.file .*none.{end}: no such file"):
            load(tmp_path, {"file": f"none.{end}", "format": str(end)} | more)


READABLE = [f for f in FileFormat if f != FileFormat.PNG or importlib.util.find_spec("PIL") is not None]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(format_=st.sampled_from(READABLE), data=st.data())
def test_whatever_is_in_a_file_it_is_read_or_refused_in_words(format_: FileFormat, data: Any, tmp_path: Path) -> None:
    start = {FileFormat.NPZ: ARCHIVE[:400], FileFormat.NPY: GOOD, FileFormat.CSV: b"1,2,3"}.get(format_, bytes(12))
    content = bytearray(start)
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    (tmp_path / "x").write_bytes(bytes(content))
    init = {"file": "x", "format": str(format_)} | ({"array": "good"} if format_ == FileFormat.NPZ else {})
    dtype, shape = ("u8", [2, 2]) if format_ == FileFormat.PNG else ("f32", 3)
    said = "argument x: init.file"
    try:
        load(tmp_path, init, dtype, shape)
    except MalformedInput as error:
        said = str(error)
    assert "argument x: init.file" in said


# Pictures.


def picture(folder: Path, array: Any, mode: str, name: str = "x.png", **options: Any) -> None:
    image = pytest.importorskip("PIL.Image")
    image.fromarray(array).convert(mode).save(folder / name, **options)


RGB = np.arange(24, dtype="u1").reshape(2, 4, 3)


def test_pictures(tmp_path: Path) -> None:
    picture(tmp_path, RGB, "RGB")
    assert np.array_equal(load(tmp_path, {"file": "x.png"}, "u8", [2, 4, 3]), RGB)
    opaque = load(tmp_path, {"file": "x.png"}, "u8", [2, 4, 4])
    assert np.array_equal(opaque[..., :3], RGB)
    assert (opaque[..., 3] == 255).all()
    picture(tmp_path, RGB[..., 0], "L")
    assert np.array_equal(load(tmp_path, {"file": "x.png"}, "u8", [2, 4]), RGB[..., 0])
    assert np.array_equal(load(tmp_path, {"file": "x.png"}, "u8", [2, 4, 3])[..., 2], RGB[..., 0])
    picture(tmp_path, RGB[..., 0] > 9, "1")
    assert np.array_equal(load(tmp_path, {"file": "x.png"}, "u8", [2, 4, 1])[..., 0], (RGB[..., 0] > 9) * 255)
    deep = (RGB[..., 0].astype("u2") << 8) + 7
    pytest.importorskip("PIL.Image").fromarray(deep).save(tmp_path / "deep.png")
    assert np.array_equal(load(tmp_path, {"file": "deep.png"}, "u16", [2, 4]), deep)
    with pytest.raises(MalformedInput, match="cannot be read to the bit; found 16 bits of grey"):
        load(tmp_path, {"file": "deep.png"}, "u8", [2, 4])


def test_a_colour_that_is_transparent_is_not_dropped(tmp_path: Path) -> None:
    picture(tmp_path, RGB, "RGB", transparency=(3, 4, 5))
    picture(tmp_path, RGB[..., 0], "L", "grey.png", transparency=3)
    picture(tmp_path, RGB[..., 0] > 9, "1", "bits.png", transparency=1)
    deep = RGB[..., 0].astype("u2") << 8
    pytest.importorskip("PIL.Image").fromarray(deep).save(tmp_path / "deep.png", transparency=3)
    clear = (np.arange(8).reshape(2, 4) != 1) * 255
    assert np.array_equal(load(tmp_path, {"file": "x.png"}, "u8", [2, 4, 4])[..., 3], clear)
    assert np.array_equal(load(tmp_path, {"file": "grey.png"}, "u8", [2, 4, 2])[..., 1], clear)
    assert np.array_equal(load(tmp_path, {"file": "grey.png"}, "u8", [2, 4, 4])[..., 3], clear)
    for name, dtype, shape in (
        ("x", "u8", [2, 4, 3]), ("grey", "u8", [2, 4]), ("grey", "u8", [2, 4, 3]), ("bits", "u8", [2, 4]),
        ("deep", "u16", [2, 4]),
    ):  # fmt: skip
        with pytest.raises(MalformedInput, match="with a colour that is transparent"):
            load(tmp_path, {"file": f"{name}.png"}, dtype, shape)


def test_a_texture_of_a_picture(tmp_path: Path) -> None:
    picture(tmp_path, RGB, "RGB")
    entry = {"name": "x", "kind": "texture", "dtype": "u8", "shape": [2, 4, 4], "channels": 4}
    entry["init"] = {"file": "x.png"}
    launch = parse_launch({"kernel": "k", "grid": 1, "block": 1, "argument": [entry]}, path=str(tmp_path / "l.toml"))
    assert np.array_equal(launch.make_textures()["x"][..., :3], RGB)


def test_pictures_that_are_not_the_arguments(tmp_path: Path) -> None:
    picture(tmp_path, RGB, "RGB")
    whole = (tmp_path / "x.png").read_bytes()
    for dtype, shape, message in (
        ("u8", [4, 2, 3], "another size; found height 2, width 4; expected height 4, width 2"),
        ("u8", [2, 4], "more channels; found of mode RGB; expected 1 at most"),
        ("u8", 24, "not the shape of a picture"),
        ("u8", [2, 4, 5], "not the shape of a picture"), ("u16", [2, 4], "fewer bits a channel; found 8"),
    ):  # fmt: skip
        with pytest.raises(MalformedInput, match=message):
            load(tmp_path, {"file": "x.png"}, dtype, shape)
    for cut in (10, 30, len(whole) - 30):
        (tmp_path / "cut.png").write_bytes(whole[:cut])
        with pytest.raises(MalformedInput, match=r"not a \.png file|the \.png file is damaged"):
            load(tmp_path, {"file": "cut.png"}, "u8", [2, 4, 3])


def test_without_pillow_pictures_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.png").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UsageError, match=r"argument x: init.file .*Pillow.* is not installed. Install binalloc\[png\]"):
        load(tmp_path, {"file": "x.png"}, "u8", [2, 2])
