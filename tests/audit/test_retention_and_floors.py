"""Deletion in the order of times or texts, and sizes that are to say that a file is good."""

from __future__ import annotations

import pytest

from tests.audit.sources import report_of, rules_in

BY_TIME = {
    "sorted": "for f in sorted(glob.glob('ckpt_*.pt'), key=os.path.getmtime)[:-keep]: os.remove(f)",
    "sort": """
        files = glob.glob(d + "/*.ckpt")
        files.sort(key=lambda p: os.path.getmtime(p))
        for f in files[:-3]:
            os.unlink(f)
    """,
    "stat": "for p in sorted(run.glob('epoch_*.pt'), key=lambda p: p.stat().st_mtime)[:-keep]: p.unlink()",
    "reversed": """
        for p in sorted(Path(ckpt_dir).iterdir(), key=os.path.getctime, reverse=True)[keep:]:
            shutil.rmtree(p)
    """,
    "the oldest": "os.remove(min(glob.glob('checkpoint_*'), key=os.path.getmtime))",
    "pairs": """
        found = []
        for p in glob.glob("checkpoint-*"):
            found.append((os.path.getmtime(p), p))
        for _, p in sorted(found)[:-keep]:
            shutil.rmtree(p)
    """,
    "another function orders": """
        def checkpoints(d): return sorted(glob.glob(d + "/*.pt"), key=os.path.getmtime)
        def rotate(d, keep):
            for p in checkpoints(d)[:-keep]: os.remove(p)
    """,
}
BY_TEXT = {
    "sorted": "for f in sorted(glob.glob('ckpt_*.pt'))[:-keep]: os.remove(f)",
    "one by one": """
        files = sorted(os.listdir(ckpt_dir))
        while len(files) > 3:
            os.remove(os.path.join(ckpt_dir, files.pop(0)))
    """,
    "paths": """
        ckpts = sorted(ckpt_dir.glob("epoch_*.pth"))
        for p in ckpts[:-keep]:
            try: p.unlink()
            except OSError: pass
    """,
}
QUIET = {
    "by number": "for f in sorted(glob.glob('ckpt_*.pt'), key=lambda p: int(p.split('_')[1]))[:-keep]: os.remove(f)",
    "numbers": "for s in sorted(int(n) for n in os.listdir(ckpt_dir))[:-keep]: shutil.rmtree(f'{ckpt_dir}/{s}')",
    "padded": "name = f'ckpt_{step:08d}.pt'\nfor f in sorted(glob.glob('ckpt_*.pt'))[:-keep]: os.remove(f)",
    "logs": "for f in sorted(glob.glob('*.log'), key=os.path.getmtime)[:-keep]: os.remove(f)",
    "a cache": "for d in sorted(cache_dir.iterdir(), key=lambda d: d.stat().st_mtime)[:-5]: shutil.rmtree(d)",
    "all of them": "for f in sorted(glob.glob('ckpt_*.pt')): os.remove(f)",
    "only looked at": "latest = max(glob.glob('ckpt_*.pt'), key=os.path.getmtime)",
    "its own history": "for p in self.checkpoints[:-keep]: os.remove(p)",
    "temporary ones": "for f in sorted(glob.glob('ckpt_*.tmp'))[:-1]: os.remove(f)",
}
FLOORS = {
    "of the story": "def ok(p):\n    if os.path.getsize(p) > 50 * 1024 * 1024:\n        return p",
    "kept": "for p in paths:\n    if os.path.getsize(p) > 50 * 1024 * 1024:\n        resume = p\n        break",
    "a named floor": "MIN = 50 << 20\ndef ok(p): return os.path.isfile(p) and os.stat(p).st_size >= MIN",
    "skipped": "for ckpt in found:\n    if ckpt.stat().st_size < 10_000_000: continue\n    load(ckpt)",
    "raised": "size = os.path.getsize(ckpt)\nif size < 1e6: raise RuntimeError('truncated')",
    "a list": "good = [p for p in checkpoints if os.path.getsize(p) > 2**20]",
    "not": "if not (os.path.exists(ckpt) and os.path.getsize(ckpt) > 1000): raise RuntimeError",
    "or": "def load(ckpt):\n    if not os.path.isfile(ckpt) or os.path.getsize(ckpt) < 1000:\n        return None",
    "turned round": "def valid(weights): return os.path.exists(weights) and 1000 < os.path.getsize(weights)",
    "not empty": "def has_checkpoint(p): return p.exists() and p.stat().st_size > 0",
}
NO_FLOORS = {
    "a ceiling": "if os.path.getsize(ckpt) > 500 * 1024 * 1024: raise ValueError('too large')",
    "a ceiling that returns": "def ok(ckpt):\n    if os.path.getsize(ckpt) > LIMIT:\n        return False",
    "the exact size": "def ok(ckpt, record): return os.path.getsize(ckpt) == record['size']",
    "another size": """
        def ok(ckpt, other):
            return os.path.exists(ckpt) and os.path.getsize(ckpt) >= os.path.getsize(other)
    """,
    "large files": "def find_large_files(fs): return [f for f in fs if os.path.getsize(f) > 1 << 30]",
    "another way to read": "if os.path.getsize(ckpt) > 1 << 30: mapped = True",
    "a log": "if os.path.exists(log) and os.path.getsize(log) > 1 << 20: rotate(log)",
    "waiting": "while os.path.getsize(ckpt) < 1000: time.sleep(1)",
    "free space": "if shutil.disk_usage(ckpt_dir).free < 1 << 30: raise OSError",
    "small and of nothing": "def ok(p): return os.path.exists(p) and os.path.getsize(p) > 10",
}


@pytest.mark.parametrize("source", BY_TIME.values(), ids=BY_TIME)
def test_retention_by_time_is_found(source: str) -> None:
    assert rules_in(source) == ["retention-by-mtime"]


@pytest.mark.parametrize("source", BY_TEXT.values(), ids=BY_TEXT)
def test_retention_by_text_is_found(source: str) -> None:
    assert rules_in(source) == ["retention-by-text"]


@pytest.mark.parametrize("source", QUIET.values(), ids=QUIET)
def test_other_deletions_are_quiet(source: str) -> None:
    assert rules_in(source) == []


@pytest.mark.parametrize("source", FLOORS.values(), ids=FLOORS)
def test_a_floor_that_says_good_is_found(source: str) -> None:
    assert rules_in(source) == ["size-floor"]


@pytest.mark.parametrize("source", NO_FLOORS.values(), ids=NO_FLOORS)
def test_other_comparisons_are_quiet(source: str) -> None:
    assert rules_in(source) == []


def test_who_takes_size_for_proof_copies_checkpoints_whatever_their_names() -> None:
    copy = "def put(src, dst):\n    shutil.copy2(src, dst)\n"
    assert rules_in(copy, "tools.py") == []
    found = rules_in(copy + "def ok(p):\n    if os.path.getsize(p) > 50 * 1024 * 1024:\n        return p", "tools.py")
    assert found == ["copy-to-final", "size-floor"]


def test_the_two_snippets_of_the_story_and_their_cures() -> None:
    report = report_of(
        """
        def mirror(src, mirror_dir):
            shutil.copy2(src, os.path.join(mirror_dir, os.path.basename(src)))

        def find_resume(run):
            for p in sorted(glob.glob(run + "/step_*.pt"), reverse=True):
                if os.path.getsize(p) > 50 * 1024 * 1024:
                    return p
        """,
        "launch.py",
    )
    copy, floor = report.findings
    assert (copy.rule, copy.line) == ("copy-to-final", 7)
    assert "ckptdeck.publish_file(src, directory, name)" in copy.instead
    assert (floor.rule, floor.line) == ("size-floor", 11)
    assert "ckptdeck resume DIR" in floor.instead
