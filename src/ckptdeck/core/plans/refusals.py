"""A refused plan as the error it means."""

from __future__ import annotations

from ckptdeck.core.errors import CkptdeckError, NoSpace, Refused, UsageError, VolumeSuspect
from ckptdeck.core.plans.plan import Refusal

_VOLUME_GUARDS = frozenset({"not-mounted", "wrong-set", "two-controls", "unreadable"})


def error_of_refusal(refusal: Refusal) -> CkptdeckError:
    """The error, with its exit code, that a refused plan means."""
    if refusal.guard == "no-space":
        return NoSpace(refusal.text)
    if refusal.guard in _VOLUME_GUARDS:
        return VolumeSuspect(refusal.text)
    if refusal.guard == "no-mirror":
        return UsageError(refusal.text)
    return Refused(refusal.text, guard=refusal.guard)
