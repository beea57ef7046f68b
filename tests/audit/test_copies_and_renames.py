"""Copies that end on a final name, renames that are not synced, temporary files elsewhere."""

from __future__ import annotations

import pytest

from tests.audit.sources import report_of, rules_in

COPIES = {
    "in a launcher": """
        def mirror(src, mirror_dir):
            dst = os.path.join(mirror_dir, os.path.basename(src))
            shutil.copy2(src, dst)  # the newest checkpoint
    """,
    "of a launcher, whatever the names": "def put(a, b): shutil.copy2(a, b)  # the newest step_*.pt",
    "by its name": "shutil.copy(ckpt_path, best_path)",
    "by what is passed": "def put(a, b): shutil.copyfile(a, b)\nput('step_1.ckpt', '/mnt/d/step_1.ckpt')",
    "a directory": "shutil.copytree(checkpoint_dir, os.path.join(backup_dir, 'last'))",
    "moved across disks": "shutil.move(ckpt, '/mnt/d/ckpts')",
    "by cp": "subprocess.run(['cp', '-r', ckpt, dst], check=True)",
    "by a shell's cp": "os.system(f'cp {ckpt} {dst}')",
}
NO_COPIES = {
    "to a part": "shutil.copy2(ckpt, dst + '.part')",
    "renamed afterwards": "shutil.copy2(ckpt, half)\nos.fsync(fd)\nos.replace(half, dst)\nos.fsync(fd)",
    "nothing says checkpoint": "def put(a, b): shutil.copy2(a, b)",
    "a configuration": "shutil.copy('config.yaml', ckpt_dir + '/config.yaml')",
    "a script beside checkpoints": "shutil.copy(__file__, os.path.join(ckpt_dir, 'train.py'))",
    "a class's source": """
        def save_model(model, d):
            shutil.copy(class_file, os.path.join(d, name))  # beside the checkpoint
    """,
    "moved in one place": "shutil.move(f'{checkpoint_path}{suffix}', checkpoint_path)",
    "a data set": "shutil.copytree(dataset_dir, '/scratch/data')",
    "another tool's cp": "subprocess.run(['aws', 's3', 'cp', ckpt, dst])",
    "an object": "y = model.copy()",
}
UNSYNCED = {
    "torch": "def save(state, path):\n    torch.save(state, path + '.tmp')\n    os.replace(path + '.tmp', path)",
    "by name": "tmp = p.with_name(p.name + '.tmp')\ntorch.save(model, tmp)\ntmp.replace(p)",
    "an opened file": """
        def save_checkpoint(state, path):
            with open(path + ".tmp", "wb") as f:
                pickle.dump(state, f)
                f.flush()
            os.rename(path + ".tmp", path)
    """,
    "a copy": "shutil.copy2(ckpt, dst + '.part')\nos.replace(dst + '.part', dst)",
    "beside, by tempfile": """
        def save(ckpt, path):
            tmp = tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False)
            torch.save(ckpt, tmp.file)
            os.replace(tmp.name, path)
    """,
    "a function that renames": """
        def settle(src, dst): os.replace(src, dst)
        def save(ckpt, path):
            torch.save(ckpt, path + ".tmp")
            settle(path + ".tmp", path)
    """,
    "a function that writes": """
        def write(ckpt, p): torch.save(ckpt, p)
        def save(ckpt, path):
            tmp_path = path + ".tmp"
            write(ckpt, tmp_path)
            os.replace(tmp_path, path)
    """,
    "a directory": """
        def save(model, checkpoint_dir):
            tmp_dir = checkpoint_dir + ".tmp"
            model.save_pretrained(tmp_dir)
            os.rename(tmp_dir, checkpoint_dir)
    """,
}
SYNC = "with open(path + '.tmp', 'wb') as f:\n    torch.save(ckpt, f)\n    f.flush()\n    os.fsync(f.fileno())\n"
MOVE = "os.replace(path + '.tmp', path)\n"
SYNC_DIRECTORY = "fd = os.open(os.path.dirname(path), os.O_RDONLY)\nos.fsync(fd)\nos.close(fd)\n"
QUIET_RENAMES = {
    "both synced": SYNC + MOVE + SYNC_DIRECTORY,
    "by functions": """
        def sync(p):
            fd = os.open(p, os.O_RDONLY)
            os.fsync(fd)
        def save(ckpt, path):
            torch.save(ckpt, path + ".tmp")
            sync(path + ".tmp")
            os.replace(path + ".tmp", path)
            sync(os.path.dirname(path))
    """,
    "the whole disk": "torch.save(ckpt, tmp)\nos.sync()\nos.replace(tmp, path)\nos.sync()",
    "to a backup": "torch.save(ckpt, tmp)\nos.replace(path, path + '.bak')",
    "written elsewhere": "def settle(tmp, checkpoint): os.replace(tmp, checkpoint)",
    "a configuration": "with open(tmp, 'w') as f: json.dump(cfg, f)\nos.replace(tmp, 'ckpt/config.json')",
    "a text": "name = checkpoint.replace('.tmp', '')",
    "columns": "checkpoints = frame.rename(columns={'tmp': 'x'})",
}
ELSEWHERE = {
    "mkstemp": "fd, name = tempfile.mkstemp()\ntorch.save(ckpt, name)\nshutil.move(name, path)",
    "a file": "with tempfile.NamedTemporaryFile(delete=False) as f: torch.save(ckpt, f)\nos.rename(f.name, path)",
    "a directory": """
        with tempfile.TemporaryDirectory() as d:
            torch.save(ckpt, os.path.join(d, "model.pt"))
            shutil.move(os.path.join(d, "model.pt"), path)
    """,
    "/tmp": "torch.save(ckpt, '/tmp/model.pt')\nos.replace('/tmp/model.pt', path)",
}
NOT_ELSEWHERE = {
    "beside": """
        fd, tmp = tempfile.mkstemp(dir=d)
        torch.save(ckpt, tmp)
        os.fsync(fd)
        os.replace(tmp, path)
        os.fsync(d)
    """,
    "no checkpoint": "fd, name = tempfile.mkstemp()\nshutil.move(name, 'report.html')",
    "within it": """
        with tempfile.TemporaryDirectory() as d:
            shutil.move(Path(d) / "model.xml", (Path(d) / n).with_suffix(".pt"))
    """,
    "not moved": "with tempfile.TemporaryDirectory() as d: torch.save(ckpt, d + '/model.pt')",
}


@pytest.mark.parametrize("source", COPIES.values(), ids=COPIES)
def test_a_copy_to_a_final_name_is_found(source: str) -> None:
    assert rules_in(source, "launch.py") == ["copy-to-final"]


@pytest.mark.parametrize("source", NO_COPIES.values(), ids=NO_COPIES)
def test_other_copies_are_quiet(source: str) -> None:
    assert rules_in(source, "tools.py") == []


@pytest.mark.parametrize("source", UNSYNCED.values(), ids=UNSYNCED)
def test_a_rename_without_an_fsync_is_found(source: str) -> None:
    assert rules_in(source) == ["rename-without-fsync"]


def test_a_rename_without_an_fsync_of_its_directory_weighs_less() -> None:
    (finding,) = report_of(SYNC + MOVE).findings
    assert (finding.rule, finding.severity) == ("rename-without-directory-fsync", "low")


@pytest.mark.parametrize("source", QUIET_RENAMES.values(), ids=QUIET_RENAMES)
def test_other_renames_are_quiet(source: str) -> None:
    assert rules_in(source) == []


@pytest.mark.parametrize("source", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_temporary_file_on_another_file_system_is_found(source: str) -> None:
    assert rules_in(source) == ["temp-elsewhere"]


@pytest.mark.parametrize("source", NOT_ELSEWHERE.values(), ids=NOT_ELSEWHERE)
def test_a_temporary_file_that_stays_or_is_beside_is_quiet(source: str) -> None:
    assert rules_in(source) == []
