"""No source, however it is built, raises, ends or stops the audit; none of it is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptdeck.audit.examine import LARGEST, examine
from ckptdeck.audit.reader import Reader
from tests.audit.sources import HEAD

NOT_READABLE = {
    "no Python": b"def broken(:\n",
    "Python 2": b"print 'x'\n",
    "a NUL": b"x = 1\0\n",
    "not UTF-8": b"x = '\xff'\n",
    "UTF-16": "x = 1\n".encode("utf-16"),
    "an encoding that is none": b"# coding: bz2\nx = 1\n",
    "an encoding that fails": b"# coding: undefined\nx = 1\n",
    "lone surrogates": b"# coding: utf-7\nx = '+2AA-'\n",
    "brackets": b"(" * 100_000,
    "a call of a call": b"f" + b"()" * 100_000,
    "signs": b"x = " + b"-" * 100_000 + b"1",
    "a sum": b"torch.save(m, a" + b"+a" * 100_000 + b")",
    "elifs": b"if x: pass\n" + b"elif x: pass\n" * 30_000,
    "size": b"#" * (LARGEST + 1),
}
READABLE = {
    "nothing": (b"", 0),
    "latin": ("# coding: latin-1\nimport torch\ntorch.save(modél.state_dict(), 'é.pt')".encode("latin-1"), 1),
    "a byte order mark": (b"\xef\xbb\xbfimport torch\ntorch.save(ckpt, path)", 1),
    "old Macs": (b"import torch\rtorch.save(ckpt,\r path)\r", 1),
    "form feeds": (b"\x0cimport torch\n\x0ctorch.save(ckpt,\n path)", 1),
    "names in a circle": (b"import torch\na = b\nb = c\nc = a\ntorch.save(ckpt, a)", 1),
    "a function that calls itself": (b"import torch\ndef g(p):\n g(p)\n torch.save(ckpt, p)\ng(g(g))", 1),
    "one name, many values": (b"import torch\n" + b"p = p + q\n" * 5000 + b"torch.save(ckpt, p)", 1),
    "many arguments": (b"import torch\ntorch.save(ckpt, *a, **b)\ntorch.save(*a)\ntorch.save()", 0),
    "powers": (
        b"import os\nif os.path.getsize(ckpt) > 9**9**9**9: raise E\nif os.path.getsize(ckpt) < 1 << 10**9: raise E",
        1,
    ),
    "a huge number": (b"import os\nif os.path.getsize(ckpt) < " + b"9" * 4000 + b": raise E", 1),
    "a deep function": (b"".join(b" " * n + b"def f(a):\n" for n in range(99)) + b" " * 99 + b"torch.save(ckpt, a)", 1),
}


@pytest.mark.parametrize("data", NOT_READABLE.values(), ids=NOT_READABLE)
def test_what_cannot_be_read_is_a_note(data: bytes) -> None:
    report = examine("/src/a.py", data)
    assert report.findings == ()
    assert report.note.startswith(("not Python", "not readable as text", "nested too deeply", "too large"))


@pytest.mark.parametrize(("data", "findings"), READABLE.values(), ids=READABLE)
def test_what_can_be_read_is(data: bytes, findings: int) -> None:
    report = examine("/src/a.py", data)
    assert report.note == ""
    assert len(report.findings) == findings


@given(st.one_of(st.text(), st.text("()[]{}:=,.*'\"\\\n\t #aft0")))
def test_no_text_raises(text: str) -> None:
    examine("/src/a.py", text.encode("utf-8", "surrogatepass"))


@given(st.binary())
def test_no_bytes_raise(data: bytes) -> None:
    examine("/src/a.py", data)


NAMES = st.sampled_from(
    ["p", "q", "self.p", "tmp", "ckpt", "'a.pt'", "'.tmp'", "open(p, 'wb')", "os.path.getsize(p)", "5"]
)
EXPRESSIONS = st.recursive(
    NAMES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+/%*"), inner).map(" ".join),
        st.tuples(
            st.sampled_from(
                [
                    "str",
                    "Path",
                    "os.path.join",
                    "sorted",
                    "min",
                    "f",
                    "self.f",
                    "open",
                    "tempfile.mkstemp",
                    "int",
                    "os.stat",
                ]
            ),
            st.lists(inner, max_size=3).map(", ".join),
        ).map(lambda call: f"{call[0]}({call[1]})"),
        st.tuples(
            inner,
            st.sampled_from(
                ["name", "parent", "with_suffix('.x')", "pop(0)", "glob('*')", "stat().st_size", "open('w')"]
            ),
        ).map(lambda pair: f"({pair[0]}).{pair[1]}"),
        inner.map(lambda one: f"[{one} for p in {one} if {one} > 1][:1]"),
        inner.map(lambda one: f"(lambda p: {one})"),
        inner.map(lambda one: f"(f'{{p}}/x' if {one} else ({one})[0])"),
    ),
    max_leaves=8,
)
STATEMENTS = st.one_of(
    st.tuples(st.sampled_from(["p", "q, p", "self.p", "*q, p", "p[0]"]), EXPRESSIONS).map(lambda s: f"{s[0]} = {s[1]}"),
    st.tuples(
        st.sampled_from(
            [
                "torch.save",
                "shutil.copy2",
                "shutil.move",
                "os.replace",
                "os.remove",
                "np.save",
                "os.fsync",
                "f",
                "pickle.dump",
            ]
        ),
        EXPRESSIONS,
        EXPRESSIONS,
    ).map(lambda s: f"{s[0]}({s[1]}, {s[2]})"),
    st.tuples(EXPRESSIONS, st.sampled_from("<>"), EXPRESSIONS).map(lambda s: f"if {s[0]} {s[1]} {s[2]}: raise p"),
    EXPRESSIONS.map(lambda one: f"for q in {one}: os.unlink(q)"),
    EXPRESSIONS.map(lambda one: f"with {one} as p: torch.save(ckpt, p)"),
    EXPRESSIONS.map(lambda one: f"def f(p, q={one}): return p"),
    EXPRESSIONS.map(lambda one: f"class A:\n  def f(self, p): self.p = {one}; os.rename(p, self.p)"),
)


@settings(deadline=None)
@given(st.lists(STATEMENTS, max_size=8))
def test_no_program_raises(statements: list[str]) -> None:
    report = examine("/src/a.py", (HEAD + "\n".join(statements)).encode())
    assert report.note == "", statements


def test_nothing_of_a_source_is_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    source = tmp_path / "evil.py"
    source.write_text(f"open({str(ran)!r}, 'w')\nimport torch\ntorch.save(ckpt, p)\n")
    for name in ("json.py", "ast.py", "torch.py", "sitecustomize.py"):
        (tmp_path / name).write_text(f"open({str(ran)!r}, 'w')\n")
    with Reader() as reader:
        assert len(reader.read(str(source)).findings) == 1
    assert not ran.exists()


def test_a_source_that_takes_too_long_is_a_note_and_the_next_is_read(tmp_path: Path) -> None:
    slow, good = tmp_path / "slow.py", tmp_path / "good.py"
    slow.write_bytes(b"x = [" + b"[]," * 600_000 + b"]")
    good.write_text("import torch\ntorch.save(ckpt, p)\n")
    with Reader(patience=0.0) as hurried:
        assert hurried.read(str(slow)).note == "not looked at: it takes longer than 0 s"
    with Reader() as reader:
        assert len(reader.read(str(good)).findings) == 1


def test_a_source_that_ends_the_reading_process_is_a_note_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("import torch\ntorch.save(ckpt, p)\n")
    path = str(tmp_path / "a.py")
    with Reader() as reader:
        with monkeypatch.context() as patched:
            patched.setattr("ckptdeck.audit.reader._START", "import os; input(); os.abort()")
            assert reader.read(path).note == "not looked at: it is too much for this interpreter"
        assert len(reader.read(path).findings) == 1


def test_a_file_that_is_gone_is_a_note(tmp_path: Path) -> None:
    with Reader() as reader:
        assert reader.read(str(tmp_path / "gone.py")).note == "cannot be read: No such file or directory"
