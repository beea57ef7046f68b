"""An engine that shows what it is given and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from ckptdeck.core.errors import CkptdeckError
from ckptdeck.core.plans.plan import Act, Plan, PlanItem
from ckptdeck.core.states import Role
from ckptdeck.monitor.job_words import plan_line
from ckptdeck.monitor.snapshot import Answer, Snapshot


class FakeEngine:
    """`plans` answers `plan`; an action without one gets a plan that copies every name to the mirror.

    Questions are answered at once, unless `thinking`: then when `answer` is called.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.plans: dict[str, Plan] = {}
        self.refusal: CkptdeckError | None = None
        self.started = 0
        self.stopped: list[float] = []
        self.asked: list[tuple[Any, ...]] = []
        self.submitted: list[Plan] = []
        self.confirmed: list[int | None] = []
        self.thinking = False
        self._unanswered: list[Callable[[], None]] = []

    def set(self, **changes: Any) -> None:
        """Shows another snapshot: the same one with `changes`, one version later."""
        self._snapshot = replace(self._snapshot, version=self._snapshot.version + 1, **changes)

    def start(self) -> None:
        self.started += 1

    def stop(self, timeout: float) -> bool:
        self.stopped.append(timeout)
        return True

    def snapshot(self) -> Snapshot:
        return self._snapshot

    def rescan(self) -> None:
        self.asked.append(("rescan",))

    def plan(self, action: str, names: Sequence[str] = (), **options: str) -> Plan:
        self.asked.append((action, tuple(names), options) if options else (action, tuple(names)))
        if self.refusal is not None:
            raise self.refusal
        return self.plans.get(action) or plan_of(action, *names)

    def ask(self, subject: str, question: Callable[[], Answer]) -> Future[Answer]:
        future: Future[Answer] = Future()

        def answer() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(question())
                except CkptdeckError as error:
                    future.set_exception(error)

        self._unanswered.append(answer)
        if not self.thinking:
            self.answer()
        return future

    def answer(self) -> None:
        """Answers whatever was asked so far."""
        waiting, self._unanswered = self._unanswered, []
        for answer in waiting:
            answer()

    def submit(self, plan: Plan, confirmed_count: int | None = None) -> int:
        self.submitted.append(plan)
        self.confirmed.append(confirmed_count)
        return len(self.submitted)

    def verify(self, names: Sequence[str] = ()) -> int:
        self.asked.append(("verify", tuple(names)))
        return 1

    def cancel(self, job: int) -> None:
        self.asked.append(("cancel", job))

    def pause(self, job: int) -> None:
        self.asked.append(("pause", job))

    def resume(self, job: int) -> None:
        self.asked.append(("resume", job))

    def command_line(self, plan: Plan) -> str:
        return plan_line(plan, "/data/ckpt", "/mnt/d/ckpt")


def plan_of(action: str, *names: str) -> Plan:
    """Copies every name, for what its size matters in a picture."""
    items = [
        PlanItem(name, Role.MIRROR, Act.COPY, "verified on primary, absent on mirror", 2_470_000_000) for name in names
    ]
    return Plan(action, tuple(items), needs=2_470_000_000 * len(items), names=names)
