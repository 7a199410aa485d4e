"""CUDA source made fit for a C++ compiler: the two things in it that no header can give a meaning to.

`kernel<<<grid, block, shared, stream>>>(arguments)` becomes a call of what `cuda_cpu::launch` gives, and an unsized
`extern __shared__` array becomes a reference to the block's dynamic shared memory. Nothing else is touched, and lines
keep their numbers.
"""

from __future__ import annotations

import re
from pathlib import Path

SOURCES = {".cu", ".cuh", ".h", ".hpp", ".hh", ".inl", ".inc", ".c", ".cpp", ".cc", ".cxx", ".H"}

_PASSIVE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
_OPENING, _CLOSING = re.compile(r"<<\s*<"), re.compile(r">>\s*>(?=\s*\()")
_EXTERN = re.compile(
    r"(?:extern\s+(?P<v1>volatile\s+)?__shared__|__shared__\s+extern)\s+(?P<v2>volatile\s+)?"
    r"(?:__align__\s*\([^)]*\)\s*|__attribute__\s*\(\(.*?\)\)\s*)?"
    r"(?P<type>[\w:<>,\s]+?)\s*(?P<name>\w+)\s*\[\s*\](?P<rest>(?:\s*\[[^\]]*\])*)\s*;"
)
_KERNEL = re.compile(r"__global__\s+(?:(?:static|inline)\s+)*(?:\w+\s*\([^()]*(?:\([^()]*\))?[^()]*\)\s*)*void\b")
_NAME = re.compile(r"\s*(?:__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)\s*)?(\w+)\s*\(")


def masked(text: str) -> str:
    """The text with comments blanked and literals all quotes, byte for byte."""
    return _PASSIVE.sub(lambda m: re.sub(r"[^\n]", " " if m.group()[0] == "/" else '"', m.group()), text)


def deduced_kernels(text: str) -> set[str]:
    """Kernels whose name alone does not say which function is meant: templates, and those that are overloaded."""
    plain = masked(text)
    found: set[str] = set()
    defined: dict[str, set[str]] = {}
    for m in _KERNEL.finditer(plain):
        name = _NAME.match(plain, m.end())
        if name is None:
            continue
        before = plain[: m.start()].rstrip()
        before = re.sub(r"(?:static|inline|extern)$", "", before).rstrip()
        if before.endswith(">"):
            found.add(name[1])
        parameters = plain[name.end() : plain.find(")", name.end())]
        defined.setdefault(name[1], set()).add(re.sub(r"\s*\w+\s*(,|$)|\s", r"\1", parameters))
    return found | {name for name, ways in defined.items() if len(ways) > 1}


def prepared(text: str, deduced: set[str]) -> str:
    """The source for a C++ compiler. deduced: kernels as `deduced_kernels` finds them, in all files of the program."""
    text = _with_calls(text, deduced)
    plain = masked(text)
    out, end = [], 0
    for m in _EXTERN.finditer(plain):
        out += [text[end : m.start()], _dynamic(m)]
        end = m.end()
    text = "".join(out) + text[end:]
    return re.sub(r"\bstatic(\s+)__shared__|\b__shared__(\s+)static\b", r"__shared__\1\2", text)


def _dynamic(m: re.Match[str]) -> str:
    element = f"{m['v1'] or ''}{m['v2'] or ''}{m['type'].strip()}"
    most = f"::cuda_cpu::MOST_SHARED / sizeof(cuda_cpu_element_{m['name']})"
    lines = "\n" * m.group().count("\n")
    return (
        f"typedef {element} cuda_cpu_element_{m['name']}{m['rest']}; "
        f"static cuda_cpu_element_{m['name']} (&{m['name']})[{most}] = "
        f"*reinterpret_cast<cuda_cpu_element_{m['name']} (*)[{most}]>(::cuda_cpu::dynamic_shared);{lines}"
    )


def _with_calls(text: str, deduced: set[str]) -> str:
    while True:
        plain = masked(text)
        opening = _OPENING.search(plain)
        if opening is None:
            return text
        at = opening.start()
        start, closing = _callee(plain, at), _CLOSING.search(plain, opening.end())
        if closing is None:
            raise ValueError(f"a launch without an end: {text[start : at + 40]}")
        name, config = text[start:at].strip(), text[opening.end() : closing.start()]
        lines = "\n" * name.count("\n")
        said = " ".join(name.split())
        if said in deduced:
            launch = f'launch_deduced({{}}, R"({said})", [&](auto... cuda_cpu_a) {{{{ {said}(cuda_cpu_a...); }}}})'
        else:
            launch = f'launch({{}}, R"({said})", {said})'
        made = "::cuda_cpu::" + launch.format(f"::cuda_cpu::config({config})") + lines
        text = text[:start] + made + text[closing.end() :]


def _callee(plain: str, end: int) -> int:
    """Where the expression begins that ends there: a name, with its template arguments if it has some."""
    at = len(plain[:end].rstrip())
    if plain[at - 1] == ">":
        depth = 0
        while True:
            at -= 1
            depth += {">": 1, "<": -1}.get(plain[at], 0)
            if not depth:
                break
        at = len(plain[:at].rstrip())
    elif plain[at - 1] == ")":
        depth = 0
        while True:
            at -= 1
            depth += {")": 1, "(": -1}.get(plain[at], 0)
            if not depth:
                return at
    while at and (plain[at - 1].isalnum() or plain[at - 1] in "_:"):
        at -= 1
    return at


def prepare_tree(source: Path, target: Path) -> None:
    """Copy a folder with its sources prepared. Files that are no sources are linked to; hidden ones are left out."""
    files = sorted(p for p in source.rglob("*") if p.is_file() and not any(q.startswith(".") for q in p.parts))
    texts = {p: p.read_text("utf-8", "surrogateescape") for p in files if p.suffix in SOURCES}
    deduced = set().union(*[deduced_kernels(t) for t in texts.values()]) if texts else set()
    for p in files:
        new = target / p.relative_to(source)
        new.parent.mkdir(parents=True, exist_ok=True)
        new.unlink(missing_ok=True)
        if p in texts and (_OPENING.search(texts[p]) or "__shared__" in texts[p]):
            line = f'#line 1 "{p}"\n' if p.suffix != ".c" else ""
            new.write_text(line + prepared(texts[p], deduced), "utf-8", "surrogateescape")
        else:
            new.symlink_to(p.resolve())
