"""Two processes that train together."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def run_ranks(script: str, *arguments: str | Path) -> None:
    """Two processes of `script`, called with `arguments` and the rank, which end well or say why not."""
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    roots = os.pathsep.join([str(HERE.parent.parent), *filter(None, sys.path)])
    ranks = [
        subprocess.Popen(
            [*command, str(rank)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONPATH": roots},
        )
        for rank in range(2)
    ]
    said = [rank.communicate(timeout=180)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], "\n".join(said)


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
