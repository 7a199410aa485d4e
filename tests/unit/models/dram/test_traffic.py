"""Files of CPU traffic: what they say, and what is refused, by key."""

from __future__ import annotations

from pathlib import Path

import pytest

from binalloc.errors import MalformedInput, UsageError
from binalloc.models.dram.traffic import MOST_CHAINS, read_traffic

PROGRAM = {
    "name": '"mcf"', "mpki": "50.0", "inflight": "8", "footprint": "64_000_000", "locality": "0.5", "ipc": "0.4",
    "mhz": "2000", "latency": "80",
}  # fmt: skip


def written(folder: Path, programs: list[dict[str, str]], top: str = "schema = 1") -> Path:
    """Write a file with these programs."""
    path = folder / "cpu.toml"
    tables = ["[[programs]]\n" + "\n".join(f"{k} = {v}" for k, v in each.items()) for each in programs]
    path.write_text("\n".join([top, *tables]) + "\n")
    return path


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    found = read_traffic(written(tmp_path, [PROGRAM], 'schema = 1\nmemory = "far"\nseed = 7'))
    assert (found.memory, found.seed) == ("far", 7)
    (program,) = found.programs
    assert program.instructions == 20.0
    assert program.lines == 1_000_000
    assert program.lap == pytest.approx(8 * 20 / 0.4 / 2.0)  # ns: 400 cycles of 0.5 ns


@pytest.mark.parametrize(
    ("change", "place", "found"),
    [
        ({"mpki": "0"}, "programs[0].mpki", "0"), ({"mpki": "nan"}, "programs[0].mpki", "nan"),
        ({"inflight": "0"}, "programs[0].inflight", "0"), ({"inflight": "1.5"}, "programs[0].inflight", "1.5"),
        ({"footprint": "1"}, "programs[0].footprint", "1"), ({"locality": "1.01"}, "programs[0].locality", "1.01"),
        ({"ipc": "-1"}, "programs[0].ipc", "-1"), ({"mhz": "true"}, "programs[0].mhz", "True"),
        ({"latency": "inf"}, "programs[0].latency", "inf"), ({"name": '""'}, "programs[0].name", '""'),
        ({"name": "3"}, "programs[0].name", "3"), ({"writes": "0.5"}, "programs[0]", "writes"),
        ({"inflight": "1"}, "programs[0].inflight", "1"),  # one miss in 80 ns is less than what the IPC needs
    ],
)  # fmt: skip
def test_impossible_programs_are_refused_by_key(
    tmp_path: Path, change: dict[str, str], place: str, found: str
) -> None:
    with pytest.raises(MalformedInput) as caught:
        read_traffic(written(tmp_path, [PROGRAM | change]))
    assert caught.value.place == place
    assert found.strip('"') in str(caught.value.found)
    assert caught.value.expected


@pytest.mark.parametrize("key", list(PROGRAM))
def test_a_missing_key_is_named(tmp_path: Path, key: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        read_traffic(written(tmp_path, [{k: v for k, v in PROGRAM.items() if k != key}]))
    assert caught.value.place == f"programs[0].{key}"


@pytest.mark.parametrize(
    ("top", "place"),
    [("", "schema"), ("schema = 2", "schema"), ('schema = 1\nmemory = "l2"', "memory"),
     ("schema = 1\nseed = -1", "seed"), ("schema = 1\nspeed = 3", "")],
)  # fmt: skip
def test_wrong_tops_are_refused(tmp_path: Path, top: str, place: str) -> None:
    with pytest.raises(MalformedInput) as caught:
        read_traffic(written(tmp_path, [PROGRAM], top))
    assert caught.value.place == place


def test_together_programs_have_to_fit(tmp_path: Path) -> None:
    many = [PROGRAM | {"name": f'"p{i}"', "inflight": "64"} for i in range(5)]
    with pytest.raises(MalformedInput, match="in flight") as caught:
        read_traffic(written(tmp_path, many))
    assert caught.value.found == 5 * 64 > MOST_CHAINS
    large = [PROGRAM | {"name": f'"p{i}"', "footprint": "600_000_000"} for i in range(2)]
    with pytest.raises(MalformedInput, match="footprints"):
        read_traffic(written(tmp_path, large))
    with pytest.raises(MalformedInput, match="comes twice"):
        read_traffic(written(tmp_path, [PROGRAM, PROGRAM]))
    with pytest.raises(MalformedInput, match="number of programs"):
        read_traffic(written(tmp_path, [PROGRAM | {"name": f'"p{i}"', "inflight": "4"} for i in range(9)]))
    empty = tmp_path / "empty.toml"
    empty.write_text("schema = 1\nprograms = []\n")
    with pytest.raises(MalformedInput, match="number of programs"):
        read_traffic(empty)
    with pytest.raises(UsageError, match="cannot read"):
        read_traffic(tmp_path / "none.toml")
