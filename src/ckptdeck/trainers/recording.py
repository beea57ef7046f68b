"""Recording what a trainer has saved in place, and what its own retention took away again.

Nothing here may end a training: what cannot be recorded is logged and stays unrecorded, so nothing resumes from it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping
from dataclasses import replace

from ckptdeck.core.adoption import record_finished
from ckptdeck.core.checkpoint_set import CheckpointSet
from ckptdeck.core.errors import CkptdeckError, from_os_error
from ckptdeck.core.host import Host
from ckptdeck.core.manifest import Manifest
from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import Condition, Role
from ckptdeck.monitor.host import this_host
from ckptdeck.saving import find_own_set

log = logging.getLogger("ckptdeck")


class InPlaceRecorder:
    """Records the directories that one run saves in one place, `root`."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._told: set[str] = set()
        self._seen: dict[str, int] = {}
        """Names that were there at the last look, with their steps."""

    def look(self, present: Mapping[str, int]) -> None:
        """What is there before the run saves anything: what is missing already is not its retention's work."""
        self._seen = dict(present)

    def record(self, name: str, step: int, metrics: Mapping[str, float]) -> bool:
        """Proves and records `name`, which the trainer has finished. False, and logged, when it cannot be."""
        host = this_host()
        target = self._usable_set(host)
        if target is None:
            return False
        try:
            record = record_finished(host, target, name, step=step, metrics=metrics)
        except CkptdeckError as error:
            self._not_recorded(name, str(error))
        except OSError as error:
            self._not_recorded(name, str(from_os_error(error, f"Recording {visible(name)}")))
        else:
            log.info("%s: recorded, %s", visible(target.path_of(name)), record.digest)
            self._seen[name] = step
            return True
        return False

    def forget_removed(self, present: Mapping[str, int]) -> None:
        """Retires the records of what was there and is not in `present` any more: the run's own retention removed it.

        Records that are older than what is left need nothing: that these were a retention's work shows by itself.
        """
        gone = {name: step for name, step in self._seen.items() if name not in present}
        self._seen = dict(present)
        newest = max(present.values(), default=-1)
        names = [name for name, step in gone.items() if step > newest]
        host = this_host()
        target = self._usable_set(host) if names else None
        if target is None:
            return
        try:
            _retire(host, target, names)
        except (OSError, ValueError) as error:
            log.warning("%s: the records of %s could not be retired: %s", visible(self.root), sorted(names), error)

    def _usable_set(self, host: Host) -> CheckpointSet | None:
        target = find_own_set(host, self.root)
        if target.condition is Condition.OK and target.role is Role.PRIMARY:
            return target
        where = visible(target.root)
        if target.condition is Condition.OK:
            self._once(f"{where} is a mirror: what is saved there is not recorded as the run's own")
        elif target.condition is Condition.UNINITIALISED:
            self._once(
                f"{where} is no initialised set: what is saved there is not recorded. `ckptdeck init` changes that"
            )
        else:
            self._once(f"{where} is {target.condition.words}: what is saved there is not recorded. {target.why}")
        return None

    def _not_recorded(self, name: str, why: str) -> None:
        log.warning("%s is saved and not recorded: %s", visible(os.path.join(self.root, name)), why)

    def _once(self, sentence: str) -> None:
        log.log(logging.DEBUG if sentence in self._told else logging.WARNING, "%s", sentence)
        self._told.add(sentence)


def _retire(host: Host, target: CheckpointSet, names: Collection[str]) -> None:
    manifest = Manifest(host.fs, target, pid=host.pid)
    for name in names:
        record = manifest.record(name)
        if record is not None and not record.retired:
            manifest.write_record(replace(record, retired=True))
            log.info("%s: removed by the trainer's own retention", visible(target.path_of(name)))
