"""Counts as they stand in sentences."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """1, "checkpoint" -> "1 checkpoint"; 46, "checkpoint" -> "46 checkpoints"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
