"""ckptdeck: keeps a primary and a mirror set of training checkpoints whole, proven and within their disks."""

from __future__ import annotations

__version__ = "0.1.0"
