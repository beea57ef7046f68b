"""The console's engine: looks at both sides, composes what they show into one picture, runs jobs, keeps the log.

Threads: one looking thread per side, one that composes, one per running job, one per watch, one that thinks plans over.
What they learn meets in one immutable snapshot that is replaced under a lock held for moments; nothing is called while
it is held, and `snapshot` only reads a reference.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace

from ckptdeck.core.errors import Refused, UsageError
from ckptdeck.core.host import Host
from ckptdeck.core.plans.plan import ItemResult, Outcome, Plan
from ckptdeck.core.policy import Policy
from ckptdeck.core.safe_text import visible
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.survey import Side, Survey
from ckptdeck.monitor.activity import ActivityLog
from ckptdeck.monitor.core_calls import CoreCalls, core_calls
from ckptdeck.monitor.desk import Desk
from ckptdeck.monitor.job_runner import JobRunner
from ckptdeck.monitor.job_words import item_line, plan_line
from ckptdeck.monitor.looking import DEFAULT_TIMING, Timing, Wait, wait_for
from ckptdeck.monitor.orders import Workshop, plan_order, verify_order, verify_orders
from ckptdeck.monitor.priority import lower_priority
from ckptdeck.monitor.resume_check import ResumeCheck
from ckptdeck.monitor.snapshot import Answer, Job, JobState, Snapshot
from ckptdeck.monitor.space_samples import SampleKeeper
from ckptdeck.monitor.surveyor import Outlook, Surveyor, Ways
from ckptdeck.monitor.trouble import find_trouble
from ckptdeck.monitor.watcher import Watch, watch_directories

_VERIFYING = Plan("verify", ())


class LiveEngine:
    """The Engine of monitor/snapshot.py over real directories.

    `mirror` None takes the one the primary is paired with. `policy` None reads the set's own ckptdeck.toml. Without
    `keep_samples` the free space seen on the way is not written down. The rest is for tests: another core, other
    waits, other kernel events.
    """

    def __init__(
        self,
        host: Host,
        primary: str,
        mirror: str | None = None,
        policy: Policy | None = None,
        *,
        keep_samples: bool = True,
        core: CoreCalls | None = None,
        timing: Timing = DEFAULT_TIMING,
        wait: Wait = wait_for,
        watch: Watch = watch_directories,
        prepare_job: Callable[[], object] = lower_priority,
    ) -> None:
        self._host = host
        self._core = core_calls() if core is None else core
        self._lock = threading.Lock()
        self._log = ActivityLog(host)
        self._desk = Desk()
        self._runner = JobRunner(
            host.clock,
            lambda jobs: self._publish(jobs=jobs),
            ended=self._job_ended,
            prepare=prepare_job,
        )
        self._resume_check = ResumeCheck(self._check_resume_point)
        self._surveyor = Surveyor(
            host,
            primary,
            mirror,
            policy,
            self._log,
            SampleKeeper(write=keep_samples),
            Ways(self._core, wait, watch, timing),
            self._saw,
        )
        self._snapshot = Snapshot(
            version=1,
            taken_at=host.clock.now(),
            title=_base_name(primary),
            survey=None,
            primary=primary,
            mirror=mirror,
        )

    def start(self) -> None:
        self._surveyor.start()

    def stop(self, timeout: float) -> bool:
        """Ends looking and watching, asks every job to stop and waits at most `timeout` s for them; True when all
        have. Also when it is False the process can end at once: no thread of the engine keeps it (job_runner.py)."""
        self._desk.close()
        self._runner.stop(0)  # they are asked first, and come back while the watches end
        self._surveyor.stop(min(timeout, 1.0))
        return self._runner.stop(timeout)

    def snapshot(self) -> Snapshot:
        return self._snapshot

    def rescan(self) -> None:
        self._surveyor.rescan()

    def plan(self, action: str, names: Sequence[str] = (), **options: str) -> Plan:
        """Computes a plan over the newest survey (pure). Raises CkptdeckError with the reason when there is none."""
        planner = self._core.planners.get(action)
        if planner is None:
            raise UsageError(f"There is no action {action}", next_step=f"Known: {', '.join(self._core.planners)}")
        return planner(self._newest_survey(), names, options)

    def ask(self, subject: str, question: Callable[[], Answer]) -> Future[Answer]:
        return self._desk.ask(subject, question)

    def submit(self, plan: Plan, confirmed_count: int | None = None) -> int:
        """Queues the plan; the job's id. Raises Refused for a plan that is refused or changes nothing."""
        shop = self._workshop()

        def told(result: ItemResult) -> None:
            self._item_done(shop, plan, result)

        return self._runner.submit(plan_order(shop, self._newest_survey(), plan, told, confirmed_count))

    def verify(self, names: Sequence[str] = ()) -> int:
        """Queues hashing of what is recorded, newest first: one job per side; the id of the first."""
        orders = verify_orders(self._workshop(), self._newest_survey(), names, self._hashed)
        first, *_ = [self._runner.submit(order) for order in orders]
        return first

    def cancel(self, job: int) -> None:
        self._runner.cancel(job)

    def pause(self, job: int) -> None:
        self._runner.pause(job)

    def resume(self, job: int) -> None:
        self._runner.resume(job)

    def command_line(self, plan: Plan) -> str:
        shop = self._workshop()
        return plan_line(plan, shop.primary, shop.mirror)

    # --- what the threads tell

    def _saw(self, outlook: Outlook) -> None:
        survey = outlook.survey
        run_id = survey.run_id if survey is not None else None
        self._publish(
            survey=survey,
            error=outlook.error,
            activity=outlook.activity,
            samples=outlook.samples,
            mirror=outlook.mirror,
            title=visible(run_id) if run_id else _base_name(self._snapshot.primary),
            trouble=find_trouble(survey) if survey is not None else (),
            log=self._log.entries,
        )
        if survey is not None:
            self._resume_check.consider(survey)

    def _check_resume_point(self, survey: Survey, side: Side, checkpoint: Checkpoint) -> None:
        title = f"check resume point {visible(checkpoint.name)} on {side.role}"
        order = verify_order(self._workshop(), survey, side, [checkpoint], self._hashed, title)
        try:
            self._runner.submit(order)
        except Refused:
            return  # the console is ending

    def _hashed(self, result: ItemResult) -> None:
        """A verification is one line of the log for the whole job; only what needs a person gets its own."""
        if result.finding or result.outcome is Outcome.FAILED:
            self._item_done(self._workshop(), _VERIFYING, result)
        else:
            self._surveyor.hint()

    def _item_done(self, shop: Workshop, plan: Plan, result: ItemResult) -> None:
        if result.outcome is not Outcome.SKIPPED:
            text = f"{visible(result.item.checkpoint)} on {result.item.side}: {result.text}"
            self._write_log(text, item_line(plan, result.item, shop.primary, shop.mirror), result.outcome)
        self._surveyor.hint()

    def _job_ended(self, job: Job) -> None:
        if job.error:
            self._write_log(f"{job.title}: {job.error}", job.command, job.state)
        elif job.action == "verify" or job.state is JobState.CANCELLED:
            self._write_log(job.title, job.command, job.state)
        self._surveyor.rescan()

    def _write_log(self, text: str, command: str, outcome: str) -> None:
        self._log.write(self._surveyor.control, text=text, command=command, outcome=str(outcome))
        self._publish(log=self._log.entries)

    def _publish(self, **changes: object) -> None:
        with self._lock:
            self._snapshot = replace(
                self._snapshot,
                version=self._snapshot.version + 1,
                taken_at=self._host.clock.now(),
                **changes,  # type: ignore[arg-type]
            )

    # --- what the verbs need

    def _newest_survey(self) -> Survey:
        snapshot = self._snapshot
        if snapshot.survey is None:
            raise UsageError(
                snapshot.error or "Nothing has been looked at yet",
                next_step="" if snapshot.error else "Wait for the first scan to end",
            )
        return snapshot.survey

    def _workshop(self) -> Workshop:
        return Workshop(self._core, self._host, self._snapshot.primary, self._surveyor.mirror)


def _base_name(path: str) -> str:
    return visible(os.path.basename(os.path.abspath(path)))
