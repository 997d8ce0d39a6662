"""A file of a SQLite store is deleted under a process that runs: it ends, and no second ledger begins.

It takes longer than five seconds, because real processes start, and the second waits three seconds before it
believes that a file is gone.
"""

import shutil
import signal
import stat
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from tests.cli.calls import called, refused
from tests.cli.processes import started
from tests.marks import in_proof

TICKING = """
[jobs.tick]
command = ["true"]

[schedules.tick]
job = "tick"
every = "500ms"
overlap = "allow"
"""
SUFFIXES = ("", "-wal", "-shm")

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "fencepost.toml").write_text(TICKING)
    return tmp_path / "store.db"


@pytest.mark.parametrize("gone", ["-wal -shm", *in_proof(*SUFFIXES)])
def test_a_deleted_file_never_makes_two_ledgers(store: Path, url: str, gone: str) -> None:
    names = [f"{store.name}{suffix}" for suffix in gone.split() or [""]]
    words = ("run", "fencepost.toml", "--store", url)
    with started(*words, folder=store.parent) as first:
        first.wait_for("succeeded")
        first.stop()
        for name in names:
            (store.parent / name).unlink()
        with started(*words, folder=store.parent) as second:
            assert second.ended() == 2
            assert "is missing" in second.lines[-1]
            assert "node started" not in second.said
        first.signal(signal.SIGCONT)
        assert first.ended() == 2
    last = first.lines[-1]
    assert last.startswith(f"fencepost: store {store}: {', '.join(names)} was deleted or replaced"), (
        first.said
    )
    assert f"fencepost migrate --restored --store {url}" in last
    assert "Traceback" not in first.said


def test_a_replaced_file_is_not_touched_by_the_process_that_had_the_old_one(store: Path, url: str) -> None:
    with started("run", "fencepost.toml", "--store", url, folder=store.parent) as first:
        first.wait_for("succeeded")
        first.stop()
        for suffix in SUFFIXES:
            Path(f"{store}{suffix}").rename(f"{store}.old{suffix}")
        with started("run", "fencepost.toml", "--store", url, folder=store.parent) as second:
            second.wait_for("succeeded")
            first.signal(signal.SIGCONT)
            assert first.ended() == 2
            assert all(Path(f"{store}{suffix}").exists() for suffix in SUFFIXES)
            second.signal(signal.SIGTERM)
            assert second.ended() == 0
    assert "store.db-replaced" in refused("audit", "--store", url)
    called("migrate", "--restored", "--store", url)
    called("audit", "--store", url)


def test_a_backup_that_is_copied_over_a_live_store_ends_its_process(store: Path, url: str) -> None:
    """The copy is shorter than the store, as an older one is."""
    words = ("run", "fencepost.toml", "--store", url)
    backup = store.with_name("backup.db")
    with closing(apsw.Connection(str(store))) as connection:
        connection.execute("CREATE TABLE backup (text)")
        connection.execute("VACUUM INTO ?", (str(backup),))
        connection.execute("DROP TABLE backup")
    called("migrate", "--store", url)
    with started(*words, folder=store.parent) as process:
        process.wait_for("succeeded")
        shutil.copyfile(backup, store)
        assert process.ended() == 2
    damaged = [line for line in process.lines if "is damaged" in line]
    assert damaged[-1] == process.lines[-1]
    assert damaged[-1].startswith(f"fencepost: store {store}: the database is damaged")
    assert "restore a backup" in damaged[-1]
    assert f"fencepost migrate --restored --store {url}" in damaged[-1]
    assert "store unavailable" not in process.said
    assert "Traceback" not in process.said
    assert "docs/guides/backup-and-restore.md" in refused("status", "--store", url)


def test_a_process_that_starts_after_a_file_was_deleted_gives_out_no_fence_again(
    store: Path, url: str
) -> None:
    words = ("run", "fencepost.toml", "--store", url)
    with started(*words, folder=store.parent) as first:
        first.wait_for("succeeded")
        Path(f"{store}-wal").unlink()
        assert first.ended() == 2
    with started(*words, folder=store.parent) as second:
        assert second.ended() == 2
        assert "store.db-replaced says" in second.lines[-1]
        assert f"fencepost migrate --restored --store {url}" in second.lines[-1]
    called("migrate", "--restored", "--store", url)
    with started(*words, folder=store.parent) as third:
        third.wait_for("succeeded")


def test_a_store_behind_a_link_is_opened_by_a_second_process(store: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "data" / "store.db")
    with started("run", "fencepost.toml", "--store", f"sqlite:///{link}", folder=tmp_path) as first:
        first.wait_for("succeeded")
        called("status", "--store", f"sqlite:///{link}")


def test_the_files_are_the_owners_alone(store: Path, url: str) -> None:
    with started("run", "fencepost.toml", "--store", url, folder=store.parent) as process:
        process.wait_for("succeeded")
        modes = [stat.S_IMODE(Path(f"{store}{suffix}").stat().st_mode) for suffix in SUFFIXES]
        assert modes == [0o600, 0o600, 0o600]


def test_a_wal_without_its_database_is_not_taken_for_a_new_ledger(store: Path, url: str) -> None:
    Path(f"{store}-wal").write_bytes(b"what is left of another ledger")
    assert "store.db-wal is there" in refused("migrate", "--store", url)
