"""Who is asked, what is coloured, and what stays silent."""

from __future__ import annotations

import io

import pytest

from ckptdeck.cli.terminal import Terminal
from ckptdeck.core.errors import Refused


class Screen(io.StringIO):
    """A text stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def written(stream: object) -> str:
    """What was written to a stream of these tests."""
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def terminal(answer: str = "", **changes: object) -> Terminal:
    streams = {"stdin": Screen(answer), "stdout": Screen(), "stderr": Screen(), "environ": {}}
    return Terminal(**{**streams, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", ["y\n", "YES\n", " yes \n"])
def test_yes_goes_on(answer: str) -> None:
    asked = terminal(answer)
    asked.confirm("Do it?", "ckptdeck x --yes")
    assert written(asked.stderr) == "Do it? [y/N] "


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "yeah\n"])
def test_anything_else_is_a_refusal(answer: str) -> None:
    with pytest.raises(Refused) as refused:
        terminal(answer).confirm("Do it?", "ckptdeck x --yes")
    assert (refused.value.exit_code, refused.value.guard) == (4, "not-confirmed")


@pytest.mark.parametrize("stream", ["stdin", "stderr"])
def test_nobody_is_asked_unless_stdin_and_stderr_are_terminals(stream: str) -> None:
    piped = terminal("y\n", **{stream: io.StringIO("y\n")})
    with pytest.raises(Refused, match="ckptdeck x --yes"):
        piped.confirm("Do it?", "ckptdeck x --yes")


def test_colour_needs_a_terminal_and_no_no_color() -> None:
    assert terminal().colour
    assert not terminal(stdout=io.StringIO()).colour
    assert not terminal(environ={"NO_COLOR": "1"}).colour
    assert not terminal(environ={"TERM": "dumb"}).colour
    assert not terminal(as_json=True).colour


def test_with_json_only_the_document_reaches_stdout() -> None:
    json_only = terminal(as_json=True)
    json_only.say("text")
    json_only.say_exactly(b"bytes")
    json_only.document({"schema": "x"})
    assert written(json_only.stdout) == '{\n  "schema": "x"\n}\n'


def test_quiet_silences_notes_but_no_warning() -> None:
    quiet = terminal(quiet=True)
    quiet.note("by the way")
    quiet.warn("look out")
    assert written(quiet.stderr) == "warning: look out\n"
    assert not quiet.progress_to_person


def test_what_the_encoding_lacks_is_escaped() -> None:
    raw = io.BytesIO()
    ascii_only = terminal(stdout=io.TextIOWrapper(raw, encoding="ascii"))
    ascii_only.say("a…b")
    assert raw.getvalue() == b"a\\u2026b\n"


def test_answers_go_nowhere_once_the_reader_left(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(Screen):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", Screen())
    left = terminal(stdout=Closed())
    left.say("one")
    left.say("two")
    left.flush()
    left.stdout.close()
