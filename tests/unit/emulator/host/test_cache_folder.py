"""Compiled code is kept only where nobody else can put a file: its index is pickled."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from binalloc.emulator.host.engines import cache


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home whose folders are safe, and another place for temporary files."""
    for name in ("home", "tmp"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "tmp").chmod(0o1777)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv(cache.VARIABLE, "")
    monkeypatch.setattr(cache, "_MADE", set())
    monkeypatch.setattr(cache.atexit, "register", lambda *_: None)
    return tmp_path / "home"


def usual(home: Path) -> Path:
    return home / ".cache/binalloc"


def predictable(home: Path) -> Path:
    return home.parent / f"tmp/binalloc-{os.getuid()}"


def owned_by_another(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """From now on `folders` belong to another user, who is not root."""
    real = os.lstat
    foreign = {str(folder) for folder in folders}

    def lstat(path: str | Path) -> os.stat_result:
        found = real(path)
        if str(path) not in foreign:
            return found
        fields = list(found)
        fields[stat.ST_UID] = os.getuid() + 12345
        return os.stat_result(fields)

    monkeypatch.setattr(cache.os, "lstat", lstat)


def test_it_is_in_the_users_cache_and_closed_to_others(home: Path) -> None:
    before = os.umask(0o000)
    try:
        folder = cache.cache_folder("hash", "plain")
    finally:
        os.umask(before)
    assert folder == usual(home) / "hash/plain"
    for made in (folder, folder.parent, folder.parent.parent, home / ".cache"):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert cache.cache_folder("hash", "plain") == folder
    assert not cache.is_temporary(folder)


@pytest.mark.parametrize("part", ["", "hash", "hash/plain"])
@pytest.mark.parametrize("harm", ["group", "others", "link", "owner", "file"])
def test_a_folder_that_others_can_fill_is_not_used(
    harm: str, part: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.cache_folder("hash", "plain")
    bad = usual(home) / part
    if harm in ("group", "others"):
        bad.chmod(0o770 if harm == "group" else 0o707)
    elif harm == "owner":
        owned_by_another(monkeypatch, bad)
    else:
        bad.rename(home / "elsewhere")
        bad.symlink_to(home / "elsewhere") if harm == "link" else bad.write_text("")
    assert cache.cache_folder("hash", "plain") == predictable(home) / "hash/plain"


@pytest.mark.parametrize("harm", ["owner", "link", "others"])
def test_the_predictable_folder_of_another_user_is_not_used_either(
    harm: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".cache").mkdir(mode=0o777)
    (home / ".cache").chmod(0o777)
    guessed = predictable(home)
    if harm == "link":
        (home / "trap").mkdir(mode=0o700)
        guessed.symlink_to(home / "trap")
    else:
        guessed.mkdir(mode=0o700)
        guessed.chmod(0o777 if harm == "others" else 0o700)
    if harm == "owner":
        owned_by_another(monkeypatch, guessed)
    folder = cache.cache_folder("hash", "plain")
    assert folder is not None
    assert folder.parent.parent.parent == home.parent / "tmp"
    assert folder.parent.parent != guessed
    assert stat.S_IMODE(folder.parent.parent.stat().st_mode) == 0o700
    assert cache.is_temporary(folder)
    assert os.environ[cache.VARIABLE] == str(folder.parent.parent)
    assert cache.cache_folder("hash", "plain") == folder, "child processes find it"


def test_a_folder_above_that_another_user_owns_is_not_trusted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owned_by_another(monkeypatch, home)
    assert cache.cache_folder("hash") == predictable(home) / "hash"


def test_a_cache_reached_by_a_link_of_the_users_own_is_judged_where_it_lies(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "disk").mkdir(mode=0o700)
    (home / ".cache").symlink_to(home / "disk")
    assert cache.cache_folder("hash") == home / "disk/binalloc/hash"
    (home / "disk").chmod(0o777)
    assert cache.cache_folder("hash") == predictable(home) / "hash"


def test_no_home_and_relative_names_are_no_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv(cache.VARIABLE, "also/relative")
    assert cache.cache_folder("hash") == predictable(home) / "hash"


def test_a_private_folder_goes_with_the_process_that_made_it(tmp_path: Path) -> None:
    program = """
import os, sys, tempfile
tempfile.tempdir = sys.argv[1]
from binalloc.emulator.host.engines import cache
folder = cache.cache_folder("hash")
assert folder.is_dir(), folder
if os.fork() == 0:
    sys.exit(0)
os.wait()
assert folder.is_dir(), "a forked child must not remove it"
print(folder)
"""
    shared = tmp_path / "tmp"
    taken = shared / f"binalloc-{os.getuid()}"
    taken.mkdir(mode=0o777)
    taken.chmod(0o777)
    environment = {**os.environ, "HOME": str(taken), "XDG_CACHE_HOME": "", cache.VARIABLE: ""}
    run = subprocess.run(
        [sys.executable, "-c", program, str(shared)], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert str(shared) in run.stdout
    assert list(shared.iterdir()) == [taken]


def test_nothing_is_kept_where_others_may_rename_it(home: Path) -> None:
    for folder in (home, home.parent / "tmp"):
        folder.chmod(0o777)
    assert cache.cache_folder("hash") is None
