"""Who is refused is told what to do instead."""

from __future__ import annotations

import ast

from tests.support.paths import ROOT

FOLDERS = ("binalloc/transform/multiplex", "binalloc/pipeline/multiplex")


def test_every_refusal_has_place_and_remedy() -> None:
    lacking, all_ = [], 0
    for path in sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refused":
                all_ += 1
                given = {keyword.arg for keyword in node.keywords}
                lacking += [f"{path.name}:{node.lineno}: {what}" for what in {"place", "remedy"} - given]
    assert lacking == []
    assert all_ > 20
