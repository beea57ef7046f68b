"""What README tells a trainer to write, as text that can be run."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
DIRECTORY = '"/data/ckpt"'


def python_block(begins_with: str) -> str:
    """The block of Python that begins so."""
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (found,) = [block for block in blocks if block.startswith(begins_with)]
    assert DIRECTORY in found
    return str(found)


def other_writers() -> dict[str, str]:
    """What may stand in the place of `torch.save`: library → statement."""
    table = README.read_text(encoding="utf-8").partition("| instead of `torch.save` | |\n|---|---|\n")[2]
    rows = table.partition("\n\n")[0].splitlines()
    found = dict(re.findall(r"^\| (.+?) \| `(.+)` \|$", "\n".join(rows), re.MULTILINE))
    assert len(found) == len(rows) > 0
    return found


def run(code: str, root: Path, names: dict[str, object]) -> dict[str, object]:
    """Runs README's code with its directory at `root`; returns the names it has defined."""
    space = dict(names)
    exec(compile(code.replace(DIRECTORY, repr(str(root))), str(README), "exec"), space)
    return space
