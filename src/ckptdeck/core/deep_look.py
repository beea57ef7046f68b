"""Reading all of a checkpoint that nobody recorded, for the checksums inside it: proof of a kind, without a record."""

from __future__ import annotations

import contextlib

from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import SourceChanged, from_os_error
from ckptdeck.core.filesystem import opened
from ckptdeck.core.hashing import look_still, read_for_proof, require_still
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.progress import UNHURRIED, Effort
from ckptdeck.core.publish import READ_ONLY
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Receipt, StructureFinding
from ckptdeck.core.states import Kind, Role, State, Structure
from ckptdeck.core.unit import Unit
from ckptdeck.core.verify import Verification
from ckptdeck.core.volume import volume_of

STATE_OF = {
    Structure.OK: State.STRUCTURE_OK,
    Structure.CUT: State.TRUNCATED,
    Structure.BROKEN: State.CORRUPT,
    Structure.INCOMPLETE: State.INCOMPLETE,
    Structure.SUSPECT: State.SUSPECT,
    Structure.UNKNOWN: State.UNRECORDED,
}
PROVEN_BAD = frozenset({Structure.CUT, Structure.BROKEN, Structure.INCOMPLETE})


def look_deep(host: Host, unit: Unit, side: Role, effort: Effort = UNHURRIED) -> StructureFinding:
    """What all bytes of `unit` say. Raises SourceChanged when it did not hold still, Cancelled, OSError."""
    before = look_still(host.fs, unit)
    if unit.kind is Kind.FILE:
        from ckptdeck.core.probes.deep import probe_deep

        with opened(host.fs, unit.path, READ_ONLY) as fd:
            finding = probe_deep(host, fd, before.size, name=unit.name, side=side, effort=effort)
    else:
        from ckptdeck.core.probes.deep_tree import deep_tree
        from ckptdeck.core.probes.tree import LostInTree, Tree

        try:
            finding = deep_tree(host, Tree(host.fs, unit.base, unit.name, before.members, effort), side)
        except LostInTree as lost:
            raise SourceChanged(f"{visible(unit.path_of(str(lost)))} was replaced while it was read") from None
    require_still(host.fs, unit, before)
    return finding


def verify_deep(host: Host, checkpoint_set: CheckpointSet, unit: Unit, effort: Effort = UNHURRIED) -> Verification:
    """`look_deep` as the outcome of a verification; what is proven bad is kept, so that the next look knows it.

    Never records anything. Raises Cancelled, ItemFailed or VolumeSuspect when it cannot be read.
    """
    role = checkpoint_set.role
    try:
        size = look_still(host.fs, unit).size
        finding = look_deep(host, unit, role, effort)
        receipt = _keep_bad_news(host, checkpoint_set, unit, finding, effort)
    except SourceChanged as changed:
        return Verification(unit.name, role, State.UNSAFE_WRITE, str(changed), None, 0)
    except FileNotFoundError:
        return Verification(unit.name, role, State.MISSING, f"{visible(unit.path)} is gone", None, 0)
    except OSError as error:
        raise from_os_error(error, f"Reading {visible(unit.path)}") from error
    says = f"; {finding.loader_says}" if finding.loader_says else ""
    return Verification(unit.name, role, STATE_OF[finding.structure], finding.text + says, receipt, size)


def _keep_bad_news(
    host: Host, checkpoint_set: CheckpointSet, unit: Unit, finding: StructureFinding, effort: Effort
) -> Receipt | None:
    if finding.structure not in PROVEN_BAD or checkpoint_set.control is None:
        return None
    volume = volume_of(host.fs, checkpoint_set.root)
    reading = read_for_proof(host, unit, volume, side=checkpoint_set.role, effort=effort)
    receipt = Receipt(
        name=unit.name,
        good=False,
        digest=reading.digest,
        stamps=reading.identity.stamps,
        evidence=reading.evidence,
        verified_at=host.clock.now(),
        boot_id=host.boot_id,
        mount=volume.mount,
        note=finding.text,
    )
    with contextlib.suppress(OSError):  # a full disk: the finding is told all the same
        Manifest(host.fs, checkpoint_set, pid=host.pid).write_receipt(receipt)
    return receipt
