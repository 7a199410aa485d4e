"""A recorded run of a program as a sequence of launches that binalloc runs, with what it should leave.

    python -m tests.foreign.replay TRACE PROGRAM PTX [PTX ...] --out DIR

DIR then has `program.toml`, the contents of buffers as .npy files, and `expected.json`: for each argument that is
compared, the file that has what the host computed, and its type.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from binalloc.launch.placing import place_buffers
from tests.foreign.names import Names, element_of

MOST_STEPS = 1000
LONGEST_PERIOD = 400
CODES = {
    "f": "f32", "d": "f64", "i": "i32", "j": "u32", "l": "i64", "m": "u64", "x": "i64", "y": "u64", "s": "i16",
    "t": "u16", "b": "u8", "c": "i8", "a": "i8", "h": "u8",
}  # fmt: skip
"""Types of pointers as C++ mangles them."""


@dataclass
class Held:
    """A buffer or variable of the sequence. dtype: of its elements; pointers: bytes of it that are addresses, as
    (byte, allocation, offset)."""

    name: str
    kind: str
    data: np.ndarray
    dtype: str
    pointers: list[list[int]] = field(default_factory=list)
    compared: bool = False

    def typed(self) -> np.ndarray:
        return self.data.view(element_of(self.dtype))


class Replay:
    """Reads a trace, writes a sequence. Records are those of include/cuda_cpu/trace.h."""

    def __init__(self, trace: Path, names: Names, *, margin: int = 0, untyped: str = "u32") -> None:
        """margin: bytes of zeros in front of every allocation and behind it, for programs that read there.
        untyped: the type of elements where no parameter's type tells it: of structs, and of what is found by pointers
        in memory."""
        self.trace, self.names, self.margin, self.untyped = trace, names, margin, untyped
        self.records = [json.loads(line) for line in (trace / "trace.jsonl").read_text().splitlines()]
        for r in self.records:
            self._shift(r)
        self.doing = {
            "alloc": self._alloc, "write": self._write, "copy": self._copy, "read": self._read, "end": self._end,
            "bind": self._bind, "launch": self._launch,
        }  # fmt: skip
        self.held: dict[str, Held] = {}
        self.expected: dict[str, tuple[bytes, list[list[int]], str]] = {}
        self.steps: list[str] = []
        self.structs: dict[str, str] = {}
        self.fresh: set[str] = set()
        self.bound: dict[str, tuple[str, dict[str, Any]]] = {}
        self.textures: list[str] = []
        self.launches = 0
        self.kernels: set[str] = set()

    def _shift(self, r: dict[str, Any]) -> None:
        """Offsets in allocations as they are with the margin in front."""
        places = [r, r.get("from"), r.get("to"), *(a.get("to") for a in r.get("arguments", []))]
        for p in places:
            if p and "id" in p and "at" in p:
                p["at"] += self.margin
        for pointers in (r.get("pointers", []), *(a.get("pointers", []) for a in r.get("arguments", []))):
            for pointer in pointers:
                pointer[2] += self.margin

    # What there is.

    def declare(self) -> None:
        """Every allocation and variable of the trace, with elements as wide as all that is done to it allows."""
        told = {f"b{r['id']}": r["type"] for r in self.records if r["do"] == "type"}
        types = {name: names_dtype(told[name]) or self.untyped for name in told}
        sizes = {f"b{r['id']}": r["bytes"] + 2 * self.margin for r in self.records if r["do"] == "alloc"}
        for r in self.records:
            if "variable" in r:
                name = self.names.variable(r["variable"])
                sizes[name] = max(sizes.get(name, 0), r["at"] + r["bytes"])
        odd = self._odd(sizes)
        for name, size in sizes.items():
            dtype = types.get(name, "u32")
            grain = element_of(dtype).itemsize
            if any(x % grain for x in odd[name]):
                dtype = "u8" if any(x % 4 for x in odd[name]) else "u32"
            grain = element_of(dtype).itemsize
            data = np.zeros(max(-(-size // grain) * grain, grain), np.uint8)
            self.held[name] = Held(name, "buffer" if name in types else "symbol", data, dtype, compared=True)

    def _odd(self, sizes: dict[str, int]) -> dict[str, set[int]]:
        """Byte offsets and sizes that elements of each have to divide."""
        odd: dict[str, set[int]] = {name: set() for name in sizes}
        for r in self.records:
            places = [r["from"], r["to"]] if r["do"] == "copy" else [r] if "at" in r else []
            for p in places:
                odd[self.name(p)] |= {p["at"], r["bytes"]}
            if r["do"] == "copy":  # elements of one size on both sides
                odd[self.name(r["to"])].add(4), odd[self.name(r["from"])].add(4)
        for name, size in sizes.items():
            odd[name].add(size)
        return odd

    def name(self, place: dict[str, Any]) -> str:
        return f"b{place['id']}" if "id" in place else self.names.variable(place["variable"])

    # What is done.

    def read(self) -> None:
        self.declare()
        self.fresh = {name for name, h in self.held.items() if h.kind == "symbol"}
        for i, r in enumerate(self.records):
            do = self.doing.get(r["do"])
            if do is not None:
                do(r, i)

    def _alloc(self, r: dict[str, Any], i: int) -> None:
        self.fresh.add(f"b{r['id']}")

    def _write(self, r: dict[str, Any], i: int) -> None:
        target, data = self.held[self.name(r)], self._bytes(r)
        if target.name in self.fresh:
            target.data[r["at"] : r["at"] + r["bytes"]] = data
            end = r["at"] + r["bytes"]
            target.pointers = [p for p in target.pointers if not r["at"] <= p[0] < end]
            target.pointers += [[r["at"] + p[0], *p[1:]] for p in r.get("pointers", [])]
            return
        grain = element_of(target.dtype).itemsize
        at, count = r["at"] // grain, r["bytes"] // grain
        elements = data.view(element_of(target.dtype))
        if not r.get("pointers") and (elements == elements[0]).all():
            value = repr(elements[0].item())
            self.steps.append(f'set = "{target.name}"\nvalue = {value}\nfrom = {at}\ncount = {count}')
            return
        source = self._source(data, target.dtype, r.get("pointers", []))
        self.steps.append(f'copy = "{source}"\nto = "{target.name}"\nat = {at}\ncount = {count}')

    def _bytes(self, r: dict[str, Any]) -> np.ndarray:
        return np.fromfile(self.trace / r["file"], np.uint8)

    def _source(self, data: np.ndarray, dtype: str, pointers: list[list[int]]) -> str:
        """A buffer that holds these bytes; one for all copies of the same."""
        name = "w" + hashlib.sha256(data.tobytes() + dtype.encode()).hexdigest()[:12]
        self.held.setdefault(name, Held(name, "buffer", data, dtype, pointers))
        return name

    def _copy(self, r: dict[str, Any], i: int) -> None:
        source, target = self.held[self.name(r["from"])], self.held[self.name(r["to"])]
        self.fresh -= {target.name}
        grain = element_of(target.dtype).itemsize
        if element_of(source.dtype).itemsize != grain:
            raise SystemExit(f"a copy from {source.name}, {source.dtype}, to {target.name}, {target.dtype}")
        self.steps.append(
            f'copy = "{source.name}"\nfrom = {r["from"]["at"] // grain}\nto = "{target.name}"\n'
            f"at = {r['to']['at'] // grain}\ncount = {r['bytes'] // grain}"
        )

    def _read(self, r: dict[str, Any], i: int) -> None:
        """What the host sees of it now. Where nothing is launched any more, the end is compared anyway."""
        if r["bytes"] == 0 or not any(later["do"] in ("launch", "write", "copy") for later in self.records[i:]):
            return
        source = self.held[self.name(r)]
        grain = element_of(source.dtype).itemsize
        name = f"r{i}"
        self.held[name] = Held(name, "buffer", np.zeros(r["bytes"], np.uint8), source.dtype, compared=True)
        self.steps.append(
            f'copy = "{source.name}"\nfrom = {r["at"] // grain}\nto = "{name}"\ncount = {r["bytes"] // grain}'
        )
        self.expected[name] = (self._bytes(r).tobytes(), r.get("pointers", []), source.dtype)

    def _end(self, r: dict[str, Any], i: int) -> None:
        h = self.held[self.name(r)]
        if h.kind == "symbol" and r["at"]:
            return
        data, pointers = self._bytes(r).tobytes(), r.get("pointers", [])
        pointers = [[r["at"] + p[0], *p[1:]] for p in pointers]
        data = bytes(r["at"]) + data
        self.expected[h.name] = (data + bytes(len(h.data) - len(data)), pointers, h.dtype)

    def _bind(self, r: dict[str, Any], i: int) -> None:
        """A texture reference is to that memory from now on: a texture of its own, filled in front of each launch."""
        variable, dtype = self.names.variable(r["texture"]), names_dtype(r["type"]) or self.untyped
        grain = element_of(dtype).itemsize
        channels = int(r["type"][-1]) if r["type"][-1] in "24" else 1
        name = f"t{len(self.textures)}"
        self.textures.append(
            f'[[argument]]\nname = "{name}"\nkind = "texture"\ndtype = "{dtype}"\nchannels = {channels}\n'
            f"shape = {[r['bytes'] // grain // channels, channels] if channels > 1 else r['bytes'] // grain}"
        )
        self.held.setdefault(variable, Held(variable, "symbol", np.zeros(8, np.uint8), "u64"))
        self.steps.append(f'set = "{variable}"\nvalue = {len(self.textures)}\nfrom = 0\ncount = 1')
        self.bound[variable] = name, r

    def _fill_textures(self) -> None:
        for name, r in self.bound.values():
            source = self.held[self.name(r)]
            grain = element_of(source.dtype).itemsize
            self.steps.append(
                f'copy = "{source.name}"\nfrom = {r["at"] // grain}\nto = "{name}"\ncount = {r["bytes"] // grain}'
            )

    def _launch(self, r: dict[str, Any], i: int) -> None:
        kernel = self.names.kernel(r["kernel"], r["function"])
        self._fill_textures()
        given = ", ".join(self._given(a) for a in r["arguments"])
        shared = f"\ndynamic_shared = {r['shared']}" if r["shared"] else ""
        self.steps.append(
            f'launch = "{kernel}"\ngrid = {r["grid"]}\nblock = {r["block"]}{shared}\narguments = [{given}]'
        )
        self.fresh.clear()
        self.launches += 1
        self.kernels.add(kernel)

    def _given(self, a: dict[str, Any]) -> str:
        raw = bytes.fromhex(a["hex"])
        if "to" in a:
            return f'{{ argument = "{self.name(a["to"])}", at = {a["to"]["at"]} }}'
        if a.get("pointers") or len(raw) not in (1, 2, 4, 8):
            return f'"{self._struct(raw, a.get("pointers", []))}"'
        return f'{{ value = {int.from_bytes(raw, "little", signed=True)}, dtype = "i{8 * len(raw)}" }}'

    def _struct(self, raw: bytes, pointers: list[list[int]]) -> str:
        """An argument for these bytes; one for all that are the same."""
        taken = {p[0] for p in pointers}
        fields = [f'{{ offset = {at}, argument = "b{which}", at = {offset} }}' for at, which, offset in pointers]
        plain = [k for k in range(len(raw)) if k // 8 * 8 not in taken]
        fields += [f'{{ offset = {k}, dtype = "u8", value = {raw[k]} }}' for k in plain]
        text = f'kind = "struct"\nbytes = {len(raw)}\nfields = [{", ".join(fields)}]'
        return self.structs.setdefault(text, f"s{len(self.structs)}")

    # What is written.

    def write(self, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        placed = {h.name: h.data.nbytes for h in self.held.values() if h.kind == "buffer"}
        addresses, _ = place_buffers(placed)
        lines = []
        for h in self.held.values():
            _relocate(h.data, h.pointers, addresses)
            lines += self._argument(h, out)
        lines += self.textures
        for text, name in self.structs.items():
            lines += ["[[argument]]", f'name = "{name}"', text]
        for step in rolled(self.steps):
            lines += step
        (out / "program.toml").write_text("\n".join(lines) + "\n")
        listed = {}
        for name, (data, pointers, dtype) in self.expected.items():
            array = np.frombuffer(data, np.uint8).copy()
            _relocate(array, pointers, addresses)
            array.view(element_of(dtype)).tofile(out / f"{name}.expected")
            listed[name] = dtype
        (out / "expected.json").write_text(json.dumps(listed, indent=1) + "\n")

    def _argument(self, h: Held, out: Path) -> list[str]:
        values = h.typed()
        lines = ["[[argument]]", f'name = "{h.name}"', f'kind = "{h.kind}"', f'dtype = "{h.dtype}"']
        lines.append(f"shape = {values.size}")
        if h.data.any():
            np.save(out / f"{h.name}.npy", values)
            lines.append(f'init = {{ file = "{h.name}.npy" }}')
        if not h.compared:
            lines.append('compare = "ignore"')
        return lines


def rolled(steps: list[str]) -> list[list[str]]:
    """The tables of the steps, with a loop where a run of them is repeated."""
    out: list[list[str]] = []
    at = 0
    while at < len(steps):
        period, rounds = _repetition(steps, at)
        if rounds > 1:
            inner = [line for step in steps[at : at + period] for line in ("[[step.step]]", step)]
            out.append(["[[step]]", f"repeat = {rounds}", *inner])
        else:
            out.append(["[[step]]", steps[at]])
        at += period * rounds
    count = sum(len([line for line in table if line.startswith("[[")]) for table in out)
    if count > MOST_STEPS:
        raise SystemExit(f"{count} steps, at most {MOST_STEPS}: run the program on less input")
    return out


def _repetition(steps: list[str], at: int) -> tuple[int, int]:
    """The run of steps from there on that saves most: its length, and how often it comes in a row."""
    best, saved = (1, 1), 0
    for period in range(1, min(LONGEST_PERIOD, (len(steps) - at) // 2) + 1):
        if steps[at] != steps[at + period]:
            continue
        rounds = 1
        while steps[at + rounds * period : at + (rounds + 1) * period] == steps[at : at + period]:
            rounds += 1
        if (rounds - 1) * period - 1 > saved:
            best, saved = (period, rounds), (rounds - 1) * period - 1
    return best


def names_dtype(mangled: str) -> str:
    """The type of elements that a pointer's type tells; "" for structs and where nobody said."""
    plain = mangled.lstrip("VKr")
    for digits in "123456789":  # the vectors: float4 is 6float4
        for base, dtype in (("float", "f32"), ("double", "f64")):
            if plain.startswith(digits) and plain[1:-1] == base and plain[-1] in "1234":
                return dtype
    return CODES.get(plain, "")


def _relocate(data: np.ndarray, pointers: list[list[int]], addresses: dict[str, int]) -> None:
    """Put the emulator's addresses where the host's were."""
    for at, which, offset in pointers:
        data[at : at + 8] = np.frombuffer((addresses[f"b{which}"] + offset).to_bytes(8, "little"), np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("program", type=Path)
    parser.add_argument("ptx", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--margin", type=int, default=0, help="bytes around each allocation, a multiple of 16")
    a = parser.parse_args()
    replay = Replay(a.trace, Names(a.program, a.ptx), margin=a.margin)
    replay.read()
    replay.write(a.out)
    print(f"{a.out / 'program.toml'}: {replay.launches} launches, {len(replay.steps)} steps")


if __name__ == "__main__":
    main()
