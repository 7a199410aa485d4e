"""Random PTX kernels on textures and surfaces: fetches of every mode, queries, accesses to surfaces.

A thread stores to a column of a surface of its own and reads there and in surfaces that nobody writes; several add to
one place of another surface. What is fetched and read goes into a sum of the thread's own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.support.oracles.emulator.pyramid import pyramid
from tests.support.ptx.interpreter.textures import Surface, Texture

THREADS = 64
_TEXTURES = {
    "1d": (1, "none"), "2d": (2, "none"), "3d": (3, "none"), "a1d": (1, "array"), "a2d": (2, "array"),
    "cube": (2, "cube"), "acube": (2, "cube"),
}  # fmt: skip
_SURFACES = {"1d": (1, False), "2d": (2, False), "3d": (3, False), "a1d": (1, True), "a2d": (2, True)}
_ASKED = ("width", "height", "depth", "channel_data_type", "channel_order", "array_size")
_BITS = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}


@dataclass
class Kernel:
    """A body for `both`, and the arguments behind the buffer of results, with their parameters."""

    body: str
    arguments: list[Any] = field(default_factory=list)
    params: list[str] = field(default_factory=list)


def draw(seed: int, statements: int = 8) -> Kernel:
    """A kernel of THREADS threads, one word of results for each."""
    return _Drawing(random.Random(seed)).kernel(statements)


class _Drawing:
    def __init__(self, r: random.Random) -> None:
        self.r, self.numbers = r, np.random.default_rng(r.randrange(1 << 32))
        self.textures = {f"t{k}": self.texture() for k in range(2)}
        self.operation = r.choice((
            "b.add.u32", "b.min.u32", "b.max.s32", "b.and.b32", "b.or.b32", "b.add.s32", "p.min.b32", "p.max.b32",
            "p.add.b32", "p.and.b32",
        ))  # fmt: skip
        self.handles: dict[str, str] = {}
        self.read, self.own = self.surface(), self.surface(THREADS)
        self.shared = self.surface(dtype=r.choice(("u4", "i4")))

    def kernel(self, statements: int) -> Kernel:
        named: dict[str, Any] = {name: texture for name, (_, texture) in self.textures.items()}
        named |= {"read": self.read[1], "own": self.own[1], "shared": self.shared[1]}
        lines = [".reg .b32 %w<8>; .reg .f32 %e<48>; mov.u32 %r7, %r0;"]
        lines += [f"ld.param.u64 %d{4 + k}, [{name}];" for k, name in enumerate(named)]
        self.handles = {name: f"%d{4 + k}" for k, name in enumerate(named)}
        for _ in range(statements):
            lines.append(self.r.choice((self.fetch, self.fetch, self.query, self.load, self.store, self.add))())
        lines.append("st.global.u32 [%d1], %r7;")
        return Kernel("\n".join(lines), list(named.values()), [f".param .u64 {name}" for name in named])

    # -- what there is

    def texels(self, sides: tuple[int, ...], dtype: str, channels: int) -> Any:
        shape = (*sides, channels)
        if dtype == "f4":
            return self.numbers.normal(0, 9, shape).astype("f4")
        return self.numbers.integers(0, 120, shape).astype(dtype)

    def texture(self) -> tuple[str, Texture]:
        r, geometry = self.r, self.r.choice(tuple(_TEXTURES))
        axes, layers = _TEXTURES[geometry]
        dtype, channels = r.choice(("f4", "f4", "f4", "u1", "i2", "u4")), r.choice((1, 2, 4))
        side = r.randrange(1, 12)
        sides = (side, side) if layers == "cube" else tuple(r.randrange(1, 12) for _ in range(axes))
        first = {"none": (), "array": (r.randrange(1, 4),), "cube": (6 * r.randrange(1, 3),)}[layers]
        as_float = dtype in ("u1", "i2") and r.random() < 0.6
        smooth = dtype == "f4" or as_float
        texels = self.texels((*first, *sides), dtype, channels)
        normalized = layers == "cube" or r.random() < 0.7
        levels = r.randrange(1, max(sides).bit_length() + 1) if normalized else 1
        modes = ("clamp", "border", "wrap", "mirror") if normalized else ("clamp", "border")
        return geometry, Texture(
            texels, smooth and r.random() < 0.5, normalized, tuple(r.choice(modes) for _ in range(3)), as_float, layers,
            pyramid(texels, levels, layers != "none"), levels > 1 and smooth and r.random() < 0.5,
            r.choice((0.0, 0.0, -0.7, 1.25)) if levels > 1 else 0.0,
            r.choice(((0.0, 28.0), (0.5, 2.0), (1.0, 1.0))) if levels > 1 else (0.0, 28.0),
        )  # fmt: skip

    def surface(self, width: int = 0, dtype: str = "") -> tuple[str, Surface]:
        r, geometry = self.r, self.r.choice(("1d", "2d", "3d") if dtype else tuple(_SURFACES))
        axes, layered = _SURFACES[geometry]
        sides = [width or r.randrange(1, 12), *(r.randrange(1, 6) for _ in range(axes - 1 + layered))]
        kind = dtype or r.choice(("u1", "i2", "u4", "f4", "f2"))
        return geometry, Surface(self.texels(tuple(sides[::-1]), kind, 1 if dtype else r.choice((1, 2, 4))), layered)

    # -- what is done with it

    def word(self, register: str) -> str:
        """A number around 0 that differs from thread to thread."""
        factor, mask, less = self.r.randrange(1, 40), self.r.choice((7, 15, 31)), self.r.randrange(12)
        return f"""mul.lo.u32 {register}, %r0, {factor}; and.b32 {register}, {register}, {mask};
            sub.u32 {register}, {register}, {less};"""

    def real(self, register: str, scale: float) -> str:
        pattern = np.float32(scale).view(np.uint32)
        return f"{self.word('%r9')} cvt.rn.f32.s32 {register}, %r9; mul.f32 {register}, {register}, 0f{pattern:08x};"

    def guarded(self, setup: str, text: str) -> str:
        if self.r.random() < 0.6:
            return f"{setup} {text}"
        return f"{setup} setp.lt.u32 %p1, %r0, {self.r.randrange(THREADS)}; @%p1 {text}"

    def sum(self, *words: str) -> str:
        return " ".join(f"mad.lo.u32 %r7, %r7, 1031, {word};" for word in words)

    def vector(self, axes: int, name: str, layer: str = "") -> str:
        items = [*([layer] if layer else []), *(f"{name}{k}" for k in range(1, axes + 1))]
        return "{" + ", ".join(items + items[-1:] * (len(items) == 3)) + "}"

    def fetch(self) -> str:
        r, name = self.r, self.r.choice(tuple(self.textures))
        geometry, texture = self.textures[name]
        axes = 3 if "cube" in geometry or geometry == "3d" else _TEXTURES[geometry][0]
        smooth = texture.as_float or texture.texels.dtype.kind == "f"
        result = "f32" if smooth else r.choice(("s32", "u32"))
        gathers = geometry in ("2d", "a2d", "cube", "acube") and r.random() < 0.2
        mode = "" if gathers else r.choice(("", "level", "base", "grad"))
        if mode == "grad" and "cube" in geometry:
            mode = "level"
        whole = not gathers and mode != "grad" and "cube" not in geometry and r.random() < 0.25
        kind, prefix = ("s32", "%r1") if whole else ("f32", "%e1")
        scale = 0.07 if texture.normalized else 0.4
        numbers = range(1, axes + 1)
        setup = " ".join(
            self.word(f"%r1{k}") if whole else self.real(f"%e1{k}", scale * r.choice((1, 1, 3))) for k in numbers
        )
        layer = "%r20" if geometry.startswith("a") else ""
        setup += f" {self.word(layer)}" if layer else ""
        where = self.vector(axes, prefix, layer)
        rest = ""
        if mode == "level":
            setup += self.word("%r21") if whole else self.real("%e21", 0.21)
            rest += ", %r21" if whole else ", %e21"
        if mode == "grad":
            for k in range(4):
                setup += self.real(f"%e3{k}", 0.01)
            slopes = [["%e30", "%e31", "%e32", "%e33"][k : k + axes] for k in range(2)]
            rest += "".join(f", {{{', '.join(s + s[-1:] * (axes == 3))}}}" for s in slopes)
        if "cube" not in geometry and r.random() < 0.4:
            shifts = [str(r.randrange(-8, 8)) if r.random() < 0.7 else "%r22" for _ in range(4 if axes == 3 else axes)]
            setup += self.word("%r22")
            rest += f", {{{', '.join(shifts)}}}"
        prefix = "%e2" if smooth else "%r3"
        results = [f"{prefix}{k}" for k in range(4, 8)]
        clear = " ".join(f"mov.b32 {v}, 0;" if not smooth else f"mov.f32 {v}, 0f00000000;" for v in results)
        present = "|%p2" if r.random() < 0.3 else ""
        op = f"tld4.{r.choice('rgba')}" if gathers else f"tex.{mode}" if mode else "tex"
        place = f"[{self.handles[name]}, {where}]"
        text = f"{op}.{geometry}.v4.{result}.{kind} {{{', '.join(results)}}}{present}, {place}{rest};"
        moved = " ".join(f"mov.b32 %w{k}, {v};" for k, v in enumerate(results))
        taken = r.sample([f"%w{k}" for k in range(4)], r.randrange(1, 5))
        return f"{clear} {self.guarded(setup, text)} {moved} {self.sum(*taken)}"

    def query(self) -> str:
        name = self.r.choice(tuple(self.handles))
        if name not in self.textures:
            return f"suq.{self.r.choice(_ASKED)}.b32 %w0, [{self.handles[name]}]; {self.sum('%w0')}"
        if self.r.random() < 0.3:
            asked = self.r.choice(_ASKED[:3])
            return f"""{self.word('%w1')} and.b32 %w1, %w1, 31; txq.level.{asked}.b32 %w0, [{self.handles[name]}], %w1;
                {self.sum('%w0')}"""
        asked = self.r.choice((*_ASKED, "normalized_coords", "num_mipmap_levels"))
        return f"txq.{asked}.b32 %w0, [{self.handles[name]}]; {self.sum('%w0')}"

    def place(self, surface: tuple[str, Surface], bound: str, own: bool, texels: bool = False) -> tuple[str, str]:
        """Coordinates of an access to a texel, inside of the surface under .trap; own: in the thread's column;
        texels: these are what x counts."""
        geometry, image = surface
        axes, layered = _SURFACES[geometry]
        sides = image.texels.shape[:-1][::-1]
        texel = image.texels.shape[-1] * image.texels.itemsize
        lines = []
        for k, n in enumerate(sides):
            register = f"%r2{3 + k}" if k < axes else "%r20"
            inside = bound == "trap"
            if k == 0 and own:
                lines.append(f"mul.lo.u32 {register}, %r0, {texel};")
                continue
            lines.append(self.word(register))
            if inside:
                lines.append(f"rem.u32 {register}, {register}, {n};")
            if k == 0 and not texels:
                lines.append(f"mul.lo.u32 {register}, {register}, {texel};")
        items = [*(["%r20"] if layered else []), *(f"%r2{3 + k}" for k in range(axes))]
        return " ".join(lines), "{" + ", ".join(items + items[-1:] * (len(items) == 3)) + "}"

    def data(self, image: Surface) -> tuple[str, list[str]]:
        """Type, with vector, and names of as many bytes as a texel has."""
        texel = image.texels.shape[-1] * image.texels.itemsize
        kind, size = self.r.choice([(k, n) for k, n in _BITS.items() if n <= texel and texel // n in (1, 2, 4)])
        count = texel // size
        prefix = {"b8": "%h", "b16": "%h", "b32": "%r", "b64": "%d"}[kind]
        first = {"%h": 2, "%r": 30, "%d": 20}[prefix]
        return (f"v{count}." if count > 1 else "") + kind, [f"{prefix}{first + k}" for k in range(count)]

    def load(self) -> str:
        surface, name = self.r.choice(((self.read, "read"), (self.own, "own")))
        bound = self.r.choice(("trap", "clamp", "zero"))
        typed, results = self.data(surface[1])
        setup, where = self.place(surface, bound, name == "own")
        clear = " ".join(f"mov.{'u16' if v[1] == 'h' else 'b64' if v[1] == 'd' else 'b32'} {v}, 7;" for v in results)
        text = f"suld.b.{surface[0]}.{typed}.{bound} {{{', '.join(results)}}}, [{self.handles[name]}, {where}];"
        found = []
        for k, v in enumerate(results):
            found.append(f"cvt.u32.u{64 if v[1] == 'd' else 16} %w{k}, {v};" if v[1] != "r" else f"mov.b32 %w{k}, {v};")
        words = [f"%w{k}" for k in range(len(results))]
        return f"{clear} {self.guarded(setup, text)} {' '.join(found)} {self.sum(*words)}"

    def store(self) -> str:
        typed, sources = self.data(self.own[1])
        bound = self.r.choice(("trap", "clamp", "zero"))
        setup, where = self.place(self.own, bound, True)
        for k, v in enumerate(sources):
            setup += f" add.u32 %w{k}, %r7, {k * 77};"
            setup += f" mov.b32 {v}, %w{k};" if v[1] == "r" else f" cvt.u{64 if v[1] == 'd' else 16}.u32 {v}, %w{k};"
        place = f"[{self.handles['own']}, {where}]"
        return self.guarded(setup, f"sust.b.{self.own[0]}.{typed}.{bound} {place}, {{{', '.join(sources)}}};")

    def add(self) -> str:
        """Operations whose order does not matter: one kind for each kernel."""
        bound = self.r.choice(("trap", "clamp", "zero"))
        unit, op, kind = self.operation.split(".")
        setup, where = self.place(self.shared, bound, False, unit == "p")
        text = f"sured.{unit}.{op}.{self.shared[0]}.{kind}.{bound} [{self.handles['shared']}, {where}], %w0;"
        value = f"sub.u32 %w0, %r0, {self.r.randrange(1 << 6)}; mul.lo.u32 %w0, %w0, {self.r.choice((1, 77, 1 << 25))};"
        return self.guarded(f"{setup} {value}", text)
