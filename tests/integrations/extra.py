"""The integrations extra, and the one excuse of tests that need more of it than torch."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

MODULES = ("torch", "transformers", "accelerate", "lightning", "orbax", "jax", "safetensors")
"""Top-level modules of its packages, and of those that they bring along."""


def missing() -> list[str]:
    return [module for module in MODULES if find_spec(module) is None]


def require_extra() -> None:
    """Skips the module that calls it where not all of them are installed. Imports none, and keeps them offline."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "GLOO_SOCKET_IFNAME": "lo"}
    absent = missing()
    if absent:
        reason = f"{', '.join(absent)} not installed (pip install ckptdeck[integrations])"
        pytest.skip(reason, allow_module_level=True)
