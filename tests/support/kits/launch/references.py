"""A sample's PTX, interpreted as it stands, has to leave what its reference says."""

from __future__ import annotations

import numpy as np

from binalloc.launch.file import compare, load_launch, reference_outputs
from tests.support.paths import sample_file
from tests.support.ptx.interpreter.interpreter import interpret


def differences_from_reference(name: str) -> list[str]:
    """Return how the buffers of a sample's small launch differ from its reference. The reference has to change some."""
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    buffers = launch.make_buffers()
    expected = reference_outputs(launch, buffers)
    assert any(not np.array_equal(expected[b], buffers[b]) for b in expected)
    arguments = [
        buffers[a.name] if a.kind == "buffer" else np.array(launch.values[a.name], a.numpy_dtype)[()]
        for a in launch.arguments
    ]
    interpret(sample_file(f"{name}.ptx").read_text(), launch.kernel, launch.grid, launch.block, arguments)
    return [str(d) for d in compare(launch, expected, buffers)]
