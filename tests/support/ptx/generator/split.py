"""A program of one file taken apart at random into several that are the same program when linked.

What one file uses alone is made its own, under a name that other files have, too; what several use is visible, and
external where it is used. Definitions that a linker must not take lie beside: weak ones, and other files' own.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

HEAD = ".version 9.0\n.target sm_100\n.address_size 64\n"
_VARIABLE = re.compile(r"^\.(?:const|global|shared) .*?\b(\w+)\[(\d+)\].*;$", re.MULTILINE)
_FUNCTION = re.compile(
    r"^((?:\.visible \.entry|\.func)[^{]*?\b(kernel|device_\d+)\b\s*\([^{]*\))\s*\{.*?^\}$", re.MULTILINE | re.DOTALL
)


@dataclass
class _Item:
    """A variable or function. head: its declaration without linkage, initial data and body. home: number of its file.
    users: files whose functions name it."""

    name: str
    text: str
    head: str
    home: int
    users: set[int] = field(default_factory=set)

    @property
    def is_function(self) -> bool:
        return ".func" in self.head or ".entry" in self.head

    def linked(self, linkage: str) -> str:
        return f"{linkage} {self.text}"

    def declared(self, rng: random.Random) -> str:
        """As another file declares it; of arrays the size may be left out."""
        head = self.head
        if not self.is_function and rng.random() < 0.5 and ".shared" not in head:
            head = re.sub(r"\[\d+\]", "[]", head)
        return f".extern {head};"

    def decoy(self) -> str:
        """Another definition of it, of the same shape."""
        if self.is_function:
            return f"{self.head} {{ trap; ret; }}"
        return f"{self.head} = {{99}};" if ".shared" not in self.head else f"{self.head};"


def split(text: str, rng: random.Random) -> list[str]:
    """The texts of two to four files."""
    count = rng.randint(2, 4)
    items = [_Item(m[2], m[0], m[1], rng.randrange(count)) for m in _FUNCTION.finditer(text)]
    for m in _VARIABLE.finditer(text):
        head = m[0].split(" = ")[0].rstrip(";")
        items.append(_Item(m[1], m[0], head, rng.randrange(count)))
    for item in items:
        named = re.compile(rf"(?<![%$\w]){item.name}\b")
        item.users = {other.home for other in items if other.is_function and named.search(other.text)} - {item.home}
    files: list[list[str]] = [[] for _ in range(count)]
    own: list[list[str]] = [[] for _ in range(count)]
    for item in sorted(items, key=lambda item: item.is_function):
        _place(item, files, own, rng)
    texts = []
    for lines, names in zip(files, own, strict=True):
        number = rng.randint(1, 3)
        body = "\n".join(lines).replace(".loc 1 ", f".loc {number} ")
        joined = f'{HEAD}.file {number} "random.cu"\n{body}\n'
        for position, name in enumerate(names):
            joined = re.sub(rf"(?<![%$\w]){name}\b", f"own_{position}", joined)
        texts.append(joined)
    rng.shuffle(texts)
    return texts


def _place(item: _Item, files: list[list[str]], own: list[list[str]], rng: random.Random) -> None:
    """Put a definition into its file, and what others say of it into theirs."""
    kernel = ".entry" in item.head
    shared = bool(item.users) or kernel or rng.random() < 0.3
    if kernel:
        files[item.home].append(item.text)
        return
    if not shared:
        own[item.home].append(item.name)
    files[item.home].append(item.linked(".visible") if shared else item.text)
    for number, lines in enumerate(files):
        if number in item.users:
            lines.insert(0, item.declared(rng))
        elif number != item.home and rng.random() < 0.4:
            lines.append(f".weak {item.decoy()}" if shared and rng.random() < 0.6 else item.decoy())
