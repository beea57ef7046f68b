"""Following both sides without a screen: what is new becomes events, and what the policy wants is done.

The engine looks, judges and works in its own threads, as for the console. This loop only reads its pictures, chooses
what is next, and tells; it touches no file system, so that a mount that hangs cannot stop it. One plan runs at a time,
and the next is made from a look that began after the last one ended. Work that failed rests, longer each time; a lost
mount, a full disk or a held lock is told once and tried again.
"""

from __future__ import annotations

from collections.abc import Callable

from ckptdeck.core.amounts import counted
from ckptdeck.core.errors import CkptdeckError
from ckptdeck.core.plans.plan import Act, ItemResult, Outcome, Plan
from ckptdeck.core.progress import CancelToken, Clock, Progress
from ckptdeck.core.safe_text import visible
from ckptdeck.core.states import Condition
from ckptdeck.core.survey import Survey
from ckptdeck.monitor.notify import Notifier
from ckptdeck.monitor.patience import Patience
from ckptdeck.monitor.snapshot import Engine, Job, JobState, Snapshot
from ckptdeck.monitor.watch_event import Event, Happening, Trouble
from ckptdeck.monitor.watch_news import Change, News
from ckptdeck.monitor.watch_work import Decider, Duties, HeldBack, Work, rest_key

TICK = 0.5
"""Seconds between two turns. A turn without news costs nothing."""
STOP_WITHIN = 60.0
"""Seconds that work gets to reach a safe point; an fsync that takes longer is left behind."""
LEAVE_WITHIN = 1.0
"""The same for a second signal, or a bug."""
_OF_THE_VOLUME = frozenset({5, 6, 7})
"""Exit codes of what the next item would meet too: a held lock, a full disk, a failing volume."""


class Watch:
    """`tell` gets each event as it happens, on the thread that calls `run` or `turn`."""

    def __init__(
        self, engine: Engine, clock: Clock, duties: Duties, notifier: Notifier, tell: Callable[[Event], None]
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._duties = duties
        self._notifier = notifier
        self._tell = tell
        self._patience = Patience(clock)
        self._decider = Decider(engine, duties, self._patience.rests)
        self._news = News(mirroring=duties.mirror)
        self._plan: Plan | None = None
        self._job: int | None = None
        self._proving = False
        self._ended_at = 0.0
        self._decided: Survey | None = None
        self._results: dict[int, int] = {}
        """How many results of a job were told."""
        self._failing: dict[tuple[str, ...], Trouble] = {}
        self._held: dict[str, HeldBack] = {}
        self._skips: set[str] = set()
        self._command: str | None = None
        self._notify_problem = ""

    def run(self, token: CancelToken, working: Callable[[Progress], None]) -> int:
        """Follows until `token` is cancelled; the exit code. `working` gets the progress of what runs."""
        self.begin()
        try:
            while not token.cancelled:
                self.turn()
                progress = self.progress
                if progress is not None:
                    working(progress)
                self._clock.sleep(TICK)
        except BaseException:
            self._engine.stop(LEAVE_WITHIN)
            raise
        return self.end()

    @property
    def progress(self) -> Progress | None:
        """Of a running job, None when nothing runs."""
        running = (job for job in self._engine.snapshot().jobs if job.state is JobState.RUNNING)
        return next((job.progress for job in running if job.progress is not None), None)

    def begin(self) -> None:
        may = [
            "copies to the mirror what the retention keeps" if self._duties.mirror else "",
            "deletes what it does not keep" if self._duties.prune else "",
        ]
        does = " and ".join(filter(None, may)) or "changes nothing"
        snapshot = self._engine.snapshot()
        both = visible(snapshot.primary) + (f" and {visible(snapshot.mirror)}" if snapshot.mirror is not None else "")
        self._say(Happening.START, f"watching {both}: {does}")
        self._engine.start()

    def turn(self) -> None:
        """Tells what is new and begins what is next. Never waits."""
        snapshot = self._engine.snapshot()
        self._tell_news(snapshot)
        self._tell_results(snapshot)
        survey = snapshot.survey
        if survey is not None and survey is not self._decided and not self._busy(snapshot) and self._is_fresh(survey):
            self._decided = survey
            self._begin_next(survey)
        self._notify(snapshot)

    def end(self) -> int:
        """Stops at a safe point. 0, or 130 when work was cut short."""
        stopped = self._engine.stop(STOP_WITHIN)
        snapshot = self._engine.snapshot()
        self._tell_results(snapshot)
        self._tell_news(snapshot)
        cut = [job for job in snapshot.jobs if job.state is JobState.CANCELLED or not job.state.over]
        self._say(Happening.STOP, _last_words(cut, stopped))
        self._notifier.close()
        return 130 if cut else 0

    # --- what is told

    def _say(self, what: Happening, text: str, command: str = "") -> None:
        self._tell(Event(self._clock.now(), what, text, command=command))

    def _tell_news(self, snapshot: Snapshot) -> None:
        ours = [*self._failing.values(), *(_as_trouble(*each) for each in self._held.items() if each[1].needs_person)]
        events = self._news.of(snapshot, self._clock.now(), ours)
        for event in events:
            self._tell(event)
        self._notifier.tell([event.text for event in events if event.what is Happening.TROUBLE])

    def _notify(self, snapshot: Snapshot) -> None:
        survey = snapshot.survey
        if survey is not None and survey.primary.inventory.condition is Condition.OK:
            self._command = survey.policy.notify  # its file lies on the primary; a lost primary is to be told too
        problem = self._notifier.turn(self._command, snapshot.mirror)
        if problem and problem != self._notify_problem:
            self._say(Happening.FAILED, problem)
        self._notify_problem = problem or self._notify_problem

    def _tell_results(self, snapshot: Snapshot) -> None:
        for job in reversed(snapshot.jobs):
            for result in job.results[self._results.get(job.id, 0) :]:
                self._tell_result(job, result)
            self._results[job.id] = len(job.results)
            if job.state.over and job.id == self._job:
                self._ours_ended(job)
        listed = {job.id for job in snapshot.jobs}
        self._results = {number: told for number, told in self._results.items() if number in listed}

    def _tell_result(self, job: Job, result: ItemResult) -> None:
        item = result.item
        text = f"{visible(item.checkpoint)}: {result.text}"
        if item.act is Act.DELETE and result.outcome is Outcome.DONE:
            text += f" ({item.reason})"
        what = Happening.FAILED if result.finding else _HAPPENINGS[result.outcome]
        event = Event(self._clock.now(), what, text, item.side, item.checkpoint, job.command)
        if result.outcome is Outcome.DONE:
            self._done(job, result)
        elif result.outcome is Outcome.FAILED and job.id == self._job and not result.finding:
            self._fails(job, result)
            return  # told as trouble
        elif result.outcome is Outcome.SKIPPED:
            if result.text in self._skips:
                return
            self._skips.add(result.text)
        self._tell(event)

    def _done(self, job: Job, result: ItemResult) -> None:
        if job.id != self._job:
            return
        self._skips.clear()
        for about in ("volume", result.item.name):
            self._failing.pop((job.action, result.item.side, about), None)

    def _fails(self, job: Job, result: ItemResult) -> None:
        """One trouble per item, or one for all that meet the same volume."""
        item = result.item
        about = "volume" if result.exit_code in _OF_THE_VOLUME else item.name
        text = f"{job.action} of {visible(item.checkpoint)} on {item.side} failed: {result.text}"
        key = (job.action, item.side, about)
        self._failing.setdefault(key, Trouble(key, text, item.side, item.checkpoint, job.command))

    # --- what is done

    def _busy(self, snapshot: Snapshot) -> bool:
        running = [job for job in snapshot.jobs if not job.state.over]
        return any(job.id == self._job or (self._proving and job.action == "verify") for job in running)

    def _is_fresh(self, survey: Survey) -> bool:
        """Every side was looked at since our last work ended."""
        self._ended_at = min(self._ended_at, self._clock.now())  # somebody may have set the clock back
        return all(side.inventory.taken_at >= self._ended_at for side in survey.sides)

    def _begin_next(self, survey: Survey) -> None:
        self._proving = False
        try:
            work = self._decider.next_work(survey)
            self._keep_account(work)
            self._hold("watch", None)
            if work.prove is not None:
                self._engine.verify((work.prove,))
                self._proving = True
            elif work.plan is not None:
                self._job, self._plan = self._engine.submit(work.plan), work.plan
                self._news.expect(_changes(work.plan))
        except CkptdeckError as error:
            self._hold("watch", HeldBack(("error", error.code), str(error)))

    def _keep_account(self, work: Work) -> None:
        """Tells what is held back, once as long as it is the same; forgets failures of what is wanted no more."""
        for action, held in work.held:
            self._hold(action, held)
        for action, wanted in work.wanted:
            for key in [key for key in self._failing if key[0] == action]:
                gone = not wanted if key[2] == "volume" else key[1:] not in wanted
                if gone:
                    del self._failing[key]

    def _hold(self, action: str, held: HeldBack | None) -> None:
        before = self._held.pop(action, None)
        if held is None:
            return
        self._held[action] = held
        if before is None or before.key != held.key:
            if before is None and held.needs_person:
                return  # told as trouble, the first time
            self._say(Happening.HELD, held.text, held.command)

    def _ours_ended(self, job: Job) -> None:
        plan, self._job, self._plan = self._plan, None, None
        self._ended_at = job.ended_at or self._clock.now()
        assert plan is not None  # it came with the job
        done = {(result.item.side, result.item.name) for result in job.results if result.outcome is Outcome.DONE}
        self._news.no_longer_expect(change for change in _changes(plan) if change[:2] not in done)
        not_done = [result for result in job.results if result.outcome is not Outcome.DONE]
        if job.state is JobState.DONE and not not_done:
            self._patience.succeeded(plan.action, rest_key(plan))
            return
        self._patience.failed(rest_key(plan))
        if any(result.exit_code in _OF_THE_VOLUME for result in not_done):
            self._patience.pause(plan.action)
        if job.state is JobState.FAILED and not not_done and job.error not in self._skips:
            self._skips.add(job.error)
            self._say(Happening.FAILED, job.error, job.command)


_HAPPENINGS = {
    Outcome.DONE: Happening.DONE,
    Outcome.SKIPPED: Happening.SKIPPED,
    Outcome.FAILED: Happening.FAILED,
    Outcome.CANCELLED: Happening.CANCELLED,
}


def _changes(plan: Plan) -> list[Change]:
    """What the plan makes appear or go, when all of it is done."""
    what = {Act.COPY: Happening.APPEARED, Act.DELETE: Happening.GONE}
    return [(item.side, item.name, what[item.act]) for item in plan.acting if item.act in what]


def _as_trouble(action: str, held: HeldBack) -> Trouble:
    return Trouble(("held", action), held.text, command=held.command)


def _last_words(cut: list[Job], stopped: bool) -> str:
    if not cut:
        return "stopped; nothing was under way"
    titles = ", ".join(f"{job.title} ({job.if_we_quit})" if job.if_we_quit else job.title for job in cut)
    text = f"stopped at a safe point; {counted(len(cut), 'job')} cut short: {titles}"
    return text if stopped else f"{text}; one is still inside a call of the system and is left behind"
