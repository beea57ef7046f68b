"""Pieces of work of the console that meet another one, each under a process number of its own."""

from __future__ import annotations

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.plans.mirror import plan_mirror
from ckptdeck.core.plans.recover import plan_recover
from ckptdeck.core.plans.repair import plan_repair
from tests.crash.sandbox import HOUR, Sandbox
from tests.crash.workloads import carry_out


def mirror(fs: FileSystem, sandbox: Sandbox) -> None:
    carry_out(fs, sandbox, plan_mirror, pid=3)


def mirror_too(fs: FileSystem, sandbox: Sandbox) -> None:
    carry_out(fs, sandbox, plan_mirror, pid=4)


def repair(fs: FileSystem, sandbox: Sandbox) -> None:
    carry_out(fs, sandbox, plan_repair, pid=5)


def repair_too(fs: FileSystem, sandbox: Sandbox) -> None:
    carry_out(fs, sandbox, plan_repair, pid=6)


def recover(fs: FileSystem, sandbox: Sandbox) -> None:
    carry_out(fs, sandbox, plan_recover, hours=HOUR, pid=7)


def recover_too(fs: FileSystem, sandbox: Sandbox) -> None:
    carry_out(fs, sandbox, plan_recover, hours=HOUR, pid=8)
