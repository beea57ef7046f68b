"""Small sources, and what an examination says of them."""

from __future__ import annotations

import textwrap

from ckptdeck.audit.examine import examine
from ckptdeck.audit.finding import FileReport

HEAD = """\
import glob, json, os, pickle, re, shutil, subprocess, tempfile
from pathlib import Path
import numpy as np
import torch
"""


def report_of(source: str, name: str = "train.py") -> FileReport:
    """What is said of HEAD and `source`, indented as it likes."""
    return examine(f"/src/{name}", (HEAD + textwrap.dedent(source)).encode())


def rules_in(source: str, name: str = "train.py") -> list[str]:
    """The rules it breaks, in the order of its lines."""
    report = report_of(source, name)
    assert report.note == ""
    return [finding.rule for finding in report.findings]
