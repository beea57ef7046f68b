from __future__ import annotations

import os
from pathlib import Path

import pytest

from ckptdeck.core.checkpoint_set import decode_set, find_pair, find_set, sibling_control
from ckptdeck.core.errors import Refused, UsageError, VolumeSuspect
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.initialise import initialise
from ckptdeck.core.states import Condition, Role
from ckptdeck.core.volume import awaits_mount
from tests.core.workbench import Workbench
from tests.crash.sandbox import machine

FS = FileSystem()


def directories(base: Path, *names: str) -> list[str]:
    for name in names:
        (base / name).mkdir(parents=True)
    return [str(base / name) for name in names]


def test_a_primarys_control_directory_lies_beside_it_and_a_mirrors_inside(bench: Workbench) -> None:
    assert bench.on(Role.PRIMARY).control == sibling_control(str(bench.primary))
    assert bench.on(Role.MIRROR).control == str(bench.mirror / ".ckptdeck")
    assert list(bench.primary.iterdir()) == []


def test_initialising_again_changes_nothing(bench: Workbench) -> None:
    before = (bench.on(Role.PRIMARY).document, bench.on(Role.MIRROR).document)
    assert initialise(machine(FS), str(bench.primary), str(bench.mirror)).created == ()
    assert (bench.on(Role.PRIMARY).document, bench.on(Role.MIRROR).document) == before


def test_the_mirror_is_found_through_the_pairing(bench: Workbench) -> None:
    pair = find_pair(FS, str(bench.primary), None)
    assert pair.mirror is not None
    assert pair.mirror.root == str(bench.mirror)


def test_looking_creates_nothing(tmp_path: Path) -> None:
    primary, mirror = directories(tmp_path, "p", "m")
    pair = find_pair(FS, primary, mirror)
    assert pair.primary.condition is Condition.UNINITIALISED
    assert sorted(os.listdir(tmp_path)) == ["m", "p"]
    assert os.listdir(mirror) == []


def test_a_directory_that_is_not_there_says_so(tmp_path: Path) -> None:
    found = find_set(FS, str(tmp_path / "nowhere"), Role.PRIMARY)
    assert found.condition is Condition.NOT_MOUNTED
    assert "nowhere" in found.why


def test_a_file_is_no_set(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert find_set(FS, str(tmp_path / "file"), Role.PRIMARY).condition is Condition.UNREADABLE


def test_an_unmounted_mirror_is_not_taken_for_a_new_one(bench: Workbench) -> None:
    (bench.mirror / ".ckptdeck").rename(bench.mirror.parent / "the disk, away")
    pair = bench.pair
    assert pair.mirror is not None
    assert pair.mirror.condition is Condition.NOT_MOUNTED
    with pytest.raises(VolumeSuspect, match="--new-mirror"):
        initialise(machine(FS), str(bench.primary), str(bench.mirror))
    assert initialise(machine(FS), str(bench.primary), str(bench.mirror), new_mirror=True).created


def test_an_unmounted_primary_is_not_taken_for_an_empty_one(bench: Workbench) -> None:
    Path(sibling_control(str(bench.primary))).rename(bench.mirror.parent / "the disk, away")
    assert bench.pair.primary.condition is Condition.NOT_MOUNTED
    with pytest.raises(VolumeSuspect, match="--replace-primary"):
        initialise(machine(FS), str(bench.primary), str(bench.mirror))
    pair = initialise(machine(FS), str(bench.primary), str(bench.mirror), replace_primary=True).pair
    assert pair.primary.condition is Condition.OK
    assert pair.primary.document is not None
    assert pair.primary.document.run_id == "llama-ft-07"


def test_the_mirror_of_another_run_is_refused(bench: Workbench, tmp_path: Path) -> None:
    other = Workbench.fresh(directories_path(tmp_path, "other"))
    pair = find_pair(FS, str(bench.primary), str(other.mirror))
    assert pair.mirror is not None
    assert pair.mirror.condition is Condition.WRONG_SET
    assert pair.primary.condition is Condition.WRONG_SET  # both were given, and nobody can tell which one was meant


def test_another_disk_where_the_mirror_was_is_no_doubt_about_the_primary(bench: Workbench, tmp_path: Path) -> None:
    other = Workbench.fresh(directories_path(tmp_path, "other"))
    bench.mirror.rename(tmp_path / "away")
    other.mirror.rename(bench.mirror)
    pair = find_pair(FS, str(bench.primary), None)
    assert pair.mirror is not None
    assert (pair.primary.condition, pair.mirror.condition) == (Condition.OK, Condition.WRONG_SET)


def directories_path(base: Path, name: str) -> Path:
    (base / name).mkdir()
    return base / name


def test_swapped_roles_are_told(bench: Workbench) -> None:
    pair = find_pair(FS, str(bench.mirror), str(bench.primary))
    assert pair.primary.condition is Condition.WRONG_SET
    assert "swap" in pair.primary.why


@pytest.mark.parametrize(("one", "two"), [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("a", "link")])
def test_the_same_or_nested_directories_are_refused(tmp_path: Path, one: str, two: str) -> None:
    directories(tmp_path, "a/b")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(UsageError):
        find_pair(FS, str(tmp_path / one), str(tmp_path / two))
    with pytest.raises(UsageError):
        initialise(machine(FS), str(tmp_path / one), str(tmp_path / two))


def test_a_neighbour_with_a_common_beginning_is_not_nested(tmp_path: Path) -> None:
    one, two = directories(tmp_path, "ckpt", "ckpt-mirror")
    assert find_pair(FS, one, two).mirror is not None


def test_two_control_directories_are_told_apart_by_nobody(bench: Workbench) -> None:
    (bench.primary / ".ckptdeck").mkdir()
    document = Path(sibling_control(str(bench.primary)), "set.json").read_bytes()
    (bench.primary / ".ckptdeck" / "set.json").write_bytes(document)
    found = bench.pair.primary
    assert found.condition is Condition.TWO_CONTROLS
    assert found.control is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"schema":"ckptdeck.set/2"}', b"\xff\xfe"])
def test_a_damaged_set_document_is_a_condition_with_a_reason(bench: Workbench, content: bytes) -> None:
    Path(sibling_control(str(bench.primary)), "set.json").write_bytes(content)
    found = bench.pair.primary
    assert found.condition is Condition.WRONG_SET
    assert "set.json" in found.why
    with pytest.raises(ValueError, match=r".+"):
        decode_set(content)


def test_inside_is_refused_where_a_trainer_trips_over_it(tmp_path: Path) -> None:
    primary, mirror = directories(tmp_path, "p", "m")
    os.mkdir(os.path.join(primary, "step-100"))
    with pytest.raises(Refused) as refused:
        initialise(machine(FS), primary, mirror, inside=True)
    assert refused.value.guard == "inside"
    assert os.listdir(primary) == ["step-100"]


def test_inside_puts_it_inside(tmp_path: Path) -> None:
    primary, mirror = directories(tmp_path, "p", "m")
    pair = initialise(machine(FS), primary, mirror, inside=True).pair
    assert pair.primary.control == os.path.join(primary, ".ckptdeck")


def test_the_mirror_can_be_forgotten(bench: Workbench) -> None:
    initialise(machine(FS), str(bench.primary), None, forget_mirror=True)
    assert find_pair(FS, str(bench.primary), None).mirror is None


def test_the_root_of_everything_is_no_set(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        initialise(machine(FS), "/", None)
    assert not Path("/..ckptdeck").exists()


class Planned(FileSystem):
    """A machine whose /etc/fstab names one mount point."""

    def __init__(self, point: Path) -> None:
        self.line = f"UUID=1-2  {str(point).replace(' ', chr(92) + '040')}  ext4  defaults 0 2"

    def planned_mounts(self) -> str:
        return f"# what belongs where\n{self.line}\n\n"


def test_an_empty_mount_point_whose_volume_is_away_is_no_fresh_directory(tmp_path: Path) -> None:
    """Else a launch script would be told that nothing was ever saved."""
    point = tmp_path / "the disk"
    point.mkdir()
    found = find_set(Planned(point), str(point), Role.PRIMARY)
    assert found.condition is Condition.NOT_MOUNTED
    assert "/etc/fstab" in found.why
    assert find_set(Planned(tmp_path / "other"), str(point), Role.PRIMARY).condition is Condition.UNINITIALISED
    (point / "step_1.pt").touch()
    assert find_set(Planned(point), str(point), Role.PRIMARY).condition is Condition.UNINITIALISED


def test_a_mounted_empty_volume_is_a_fresh_directory() -> None:
    """/proc is mounted wherever tests run, and is no empty directory; the table of mounts alone decides here."""
    assert not awaits_mount(Planned(Path("/proc")), "/proc")
