"""The policy in force for a pair: `ckptdeck.toml` in the primary's control directory, else the defaults."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from ckptdeck.core.checkpoint_set import POLICY
from ckptdeck.core.errors import UsageError, describe_os_error
from ckptdeck.core.filesystem import FileSystem, read_file
from ckptdeck.core.policy import DEFAULT_POLICY, Policy, parse_policy
from ckptdeck.core.safe_text import visible
from ckptdeck.core.values import dataclass

_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """A policy and where it was read from; `path` is None for the built-in defaults."""

    policy: Policy
    path: str | None


def read_policy(fs: FileSystem, control: str | None) -> PolicyInForce:
    """Reads the policy beside a primary's manifest. `control` None: an uninitialised set, the defaults.

    Raises UsageError for a file that cannot be read or says something that is not allowed.
    """
    if control is None:
        return PolicyInForce(DEFAULT_POLICY, None)
    path = os.path.join(control, POLICY)
    try:
        data = read_file(fs, path, _LIMIT)
    except FileNotFoundError:
        return PolicyInForce(DEFAULT_POLICY, None)
    except OSError as error:
        raise UsageError(
            f"The policy of the set cannot be read: {describe_os_error(error, path)}",
            next_step="Make the file readable, or remove it to use the defaults",
        ) from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{visible(path)} is not UTF-8 text: {error}", next_step="Correct the file") from error
    return PolicyInForce(parse_policy(text, path), path)


def read_policy_to_obey(fs: FileSystem, control: str | None, complain: Callable[[str], None]) -> Policy:
    """The policy for somebody who runs its commands unattended. Raises as `read_policy` does.

    `notify` is left out when the file belongs neither to this user nor to root: its owner could run anything as us.
    """
    found = read_policy(fs, control)
    if found.path is None or found.policy.notify is None:
        return found.policy
    owner = fs.lstat(found.path).st_uid
    if owner in (os.geteuid(), 0):
        return found.policy
    complain(
        f"notify is not run: {visible(found.path)} belongs to user {owner}, who could run anything as you that way"
    )
    return replace(found.policy, notify=None)
