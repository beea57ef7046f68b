"""Both sides looked at, each in its own thread, and composed into one survey in a third."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace

from ckptdeck.core.checkpoint_set import Pair
from ckptdeck.core.host import Host
from ckptdeck.core.outlook import foresee
from ckptdeck.core.policy import DEFAULT_POLICY, Policy
from ckptdeck.core.register import Changes
from ckptdeck.core.samples import Sample
from ckptdeck.core.states import Role
from ckptdeck.core.survey import Survey
from ckptdeck.core.values import dataclass
from ckptdeck.monitor.activity import ActivityLog
from ckptdeck.monitor.belief import Known, believe
from ckptdeck.monitor.core_calls import CoreCalls
from ckptdeck.monitor.eye import Eye
from ckptdeck.monitor.looking import Look, Lookout, Timing, Wait
from ckptdeck.monitor.snapshot import SideActivity
from ckptdeck.monitor.space_samples import SampleKeeper
from ckptdeck.monitor.watch_keeping import WatchKeeper, place_of
from ckptdeck.monitor.watcher import Watch

TICK = 0.5
"""Seconds after which silence is looked for, at least."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the surveyor tells. `survey` None: nothing yet, or `error` says why not."""

    survey: Survey | None = None
    error: str = ""
    activity: Mapping[Role, SideActivity] = field(default_factory=dict)
    mirror: str | None = None
    """As given, or as the primary's set names it."""
    samples: Mapping[Role, tuple[Sample, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ways:
    """How the surveyor reaches the world; tests put their own in."""

    core: CoreCalls
    wait: Wait
    watch: Watch
    timing: Timing


class Surveyor:
    """Tells `changed`, on its composing thread, whenever there is something new to see."""

    def __init__(
        self,
        host: Host,
        primary: str,
        mirror: str | None,
        policy: Policy | None,
        log: ActivityLog,
        keeper: SampleKeeper,
        ways: Ways,
        changed: Callable[[Outlook], None],
    ) -> None:
        self._host = host
        self._given_policy = policy
        self._log = log
        self._keeper = keeper
        self._ways = ways
        self._changed = changed
        self._policy = DEFAULT_POLICY if policy is None else policy
        self._policy_known = threading.Event()
        self._read_by: dict[Role, Policy] = {}
        self._primary_root: str | None = None
        self._apart = False
        self._news = threading.Event()
        self._stopping = False
        self._lock = threading.Lock()
        self._known: dict[Role, Known] = {}
        self._lookouts: dict[Role, Lookout] = {}
        self._keepers: dict[Role, WatchKeeper] = {}
        self._eyes: dict[Role, Eye] = {}
        self._changes: dict[Role, Changes] | None = None
        """What is seen otherwise than it was composed, None: anything may be."""
        self._generation = 0
        self._since: dict[Role, float] = {}
        self._composed: object = None
        self._doubted: tuple[Look, Look] | None = None
        self._outlook = Outlook(mirror=mirror)
        self._roots = {Role.PRIMARY: primary} | ({} if mirror is None else {Role.MIRROR: mirror})
        self._thread = threading.Thread(target=self._compose_until_stopped, name="compose", daemon=True)

    def start(self) -> None:
        for role, root in tuple(self._roots.items()):
            self._look_at(role, root)
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """No look begins any more. Waits only for the watches, up to `timeout` seconds."""
        with self._lock:
            self._stopping = True
            lookouts, keepers = tuple(self._lookouts.values()), tuple(self._keepers.values())
        self._news.set()
        self._policy_known.set()
        for lookout in lookouts:
            lookout.stop()
        for keeper in keepers:
            keeper.stop(timeout)

    def rescan(self) -> None:
        for lookout in tuple(self._lookouts.values()):
            lookout.look_now()

    def hint(self) -> None:
        """Something was done; look soon."""
        for lookout in tuple(self._lookouts.values()):
            lookout.hint()

    @property
    def mirror(self) -> str | None:
        return self._roots.get(Role.MIRROR)

    @property
    def control(self) -> str | None:
        """The primary's control directory, as far as it is known."""
        known = self._known.get(Role.PRIMARY)
        return known.look.found.control if known is not None and known.look is not None else None

    # --- on the looking threads

    def _look_at(self, role: Role, root: str) -> None:
        lookout = Lookout(
            role,
            self._host,
            lambda host, before, paths: self._look(role, root, host, before, paths),
            self._saw,
            poll=lambda: self._policy.poll,
            wait=self._ways.wait,
            timing=self._ways.timing,
        )
        with self._lock:
            if self._stopping or role in self._lookouts:
                return
            self._roots[role] = root
            self._known[role] = Known(role, root)
            self._since[role] = self._host.clock.monotonic()
            self._lookouts[role] = lookout
            self._keepers[role] = WatchKeeper(lookout, self._ways.watch)
        lookout.start()

    def _look(self, role: Role, root: str, host: Host, before: Look | None, paths: Collection[str] | None) -> Look:
        core = self._ways.core
        found = core.find_set(host.fs, root, role)
        if role is Role.PRIMARY:
            if self._given_policy is None:
                self._policy = core.read_policy(host.fs, found.control)
            self._primary_root = found.root
            self._policy_known.set()
            partner = None if found.document is None else found.document.partner_path
            if partner is not None and Role.MIRROR not in self._roots:  # what was given is meant
                self._look_at(Role.MIRROR, partner)
        else:
            # Its names are read by the policy that lies on the primary, which may not answer.
            self._ways.wait(self._policy_known, self._ways.timing.second_look)
            self._refuse_overlap(host, found.root)
        policy = self._policy
        if self._read_by.get(role) != policy:
            self._eyes[role] = Eye(core)  # names may mean something else now
        place = place_of(host.fs, found)
        if before is not None and before.place != place:
            paths = None  # what was told was told of other directories
        seen = self._eyes[role].look(host, found, policy, paths)
        self._read_by[role] = policy
        if role is Role.PRIMARY:
            self._log.reread(host.fs, found.control)
        return replace(seen, samples=self._keeper.samples_with(host, seen.inventory), place=place)

    def _refuse_overlap(self, host: Host, mirror: str) -> None:
        """Once, as soon as the primary has answered; touching it before could hang this side too."""
        if self._primary_root is not None and not self._apart:
            self._ways.core.refuse_overlap(host.fs, self._primary_root, mirror)
            self._apart = True

    def _saw(self, role: Role, look: Look | None, error: str) -> None:
        with self._lock:
            known = self._known[role]
            self._known[role] = Known(role, known.root, look or known.look, error)
            self._generation += 1
            self._note_changes(role, look)
        if look is not None:
            self._keep_watch(role, look)
        self._news.set()

    def _note_changes(self, role: Role, look: Look | None) -> None:
        """What the next survey has to be composed anew of; None: of everything."""
        if look is None or look.changes is None:
            self._changes = None  # also a look that failed may have seen something, and will not see it as new again
        elif self._changes is not None:
            self._changes[role] = {**self._changes.get(role, {}), **look.changes}

    def _keep_watch(self, role: Role, look: Look) -> None:
        """Only while the side can be read and lies on a disk of this machine."""
        inventory, place = look.inventory, None
        volume = inventory.volume
        if (
            look.place is not None
            and inventory.condition.readable
            and volume is not None
            and volume.fs_class == "local"
        ):
            place = replace(look.place, mount=volume.mount)
        self._keepers[role].keep(place, revive=look.complete)

    # --- on the composing thread

    def _compose_until_stopped(self) -> None:
        while not self._stopping:
            self._ways.wait(self._news, TICK)
            self._news.clear()
            self._compose_what_changed()

    def _compose_what_changed(self) -> None:
        late = self._host.clock.monotonic() - self._ways.timing.silence
        with self._lock:
            generation = self._generation
            activity = {role: lookout.activity for role, lookout in self._lookouts.items()}
            known = {
                role: replace(
                    self._known[role],
                    silent=activity[role].silent_since is not None,
                    overdue=self._known[role].look is None and self._since[role] <= late,
                )
                for role in activity
            }
            basis = (generation, [(k.silent, k.overdue) for k in known.values()])
            is_new = basis != self._composed
            if is_new:
                changes, self._changes = self._changes, {}
        samples = {role: one.look.samples for role, one in known.items() if one.look is not None}
        if is_new:
            self._composed = basis
            survey, error = self._compose(known, samples, changes)
        elif activity == self._outlook.activity:
            return
        else:
            survey, error = self._outlook.survey, self._outlook.error
        self._outlook = Outlook(survey, error, activity, self.mirror, samples)
        self._changed(self._outlook)

    def _must_look_again(self, looks: tuple[Look, Look], pair: Pair, silent: bool) -> bool:
        """Sides that do not belong together are called so only by two looks that were both made after the doubt.

        The two in hand may lie seconds apart, with an `init` between them. A silent side is not waited for.
        """
        if (pair.primary, pair.mirror) == (looks[0].found, looks[1].found):
            self._doubted = None
            return False
        if self._doubted is None:
            self._doubted = looks
            self.rescan()
        return not silent and any(look is before for look, before in zip(looks, self._doubted, strict=True))

    def _compose(
        self,
        known: dict[Role, Known],
        samples: Mapping[Role, tuple[Sample, ...]],
        changes: Mapping[Role, Changes] | None,
    ) -> tuple[Survey | None, str]:
        for side in known.values():
            if side.error and side.look is None:
                return self._not_composed(None, side.error)
        now = self._host.clock.now()
        primary, mirror = known[Role.PRIMARY], known.get(Role.MIRROR)
        first = second = None
        if mirror is not None and primary.look is not None and mirror.look is not None:
            pair = self._ways.core.check_pair(primary.look.found, mirror.look.found)
            first, second = pair.primary, pair.mirror
            if self._must_look_again((primary.look, mirror.look), pair, primary.silent or mirror.silent):
                return self._not_composed(self._outlook.survey, self._outlook.error)
        believed = believe(primary, first, now)
        other = believe(mirror, second, now) if mirror is not None else None
        if believed is None or (mirror is not None and other is None):
            return self._not_composed(None, "")
        try:
            survey = self._ways.core.compose(believed, other, self._policy, now, changes)
            return foresee(survey, samples), ""
        except Exception as error:  # noqa: BLE001 - a bug must be seen on the screen, not end the composing unseen
            return self._outlook.survey, f"This is a bug in ckptdeck: {type(error).__name__}: {error}"

    def _not_composed(self, survey: Survey | None, error: str) -> tuple[Survey | None, str]:
        """To be shown meanwhile; what was seen since is in no survey, so the next one is composed of everything."""
        with self._lock:
            self._changes = None
        return survey, error
