"""Where the policy in force comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptdeck.core.errors import UsageError
from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.policy import DEFAULT_POLICY, POLICY_TEMPLATE
from ckptdeck.monitor.policy_file import PolicyInForce, read_policy


def test_without_a_control_directory_or_a_file_the_defaults(tmp_path: Path) -> None:
    assert read_policy(FileSystem(), None) == PolicyInForce(DEFAULT_POLICY, None)
    assert read_policy(FileSystem(), str(tmp_path)) == PolicyInForce(DEFAULT_POLICY, None)


def test_the_file_init_writes_asks_for_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "ckptdeck.toml").write_text(POLICY_TEMPLATE)
    assert read_policy(FileSystem(), str(tmp_path)) == PolicyInForce(DEFAULT_POLICY, f"{tmp_path}/ckptdeck.toml")


@pytest.mark.parametrize("content", [b"[prune]\nkeep_lats = 3\n", b"\xff", b"x" * ((1 << 20) + 1)])
def test_what_cannot_be_used_is_a_usage_error_that_names_the_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ckptdeck.toml").write_bytes(content)
    with pytest.raises(UsageError, match=r"ckptdeck\.toml"):
        read_policy(FileSystem(), str(tmp_path))


def test_a_file_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / "ckptdeck.toml").mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        read_policy(FileSystem(), str(tmp_path))
