"""Running and finished work: how far, how fast, how it ended, and what to do when it failed."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from ckptdeck.monitor.snapshot import Job, JobState
from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.messages import CopyWanted, JobAsked, JobVerb, Say
from ckptdeck.tui.screens.live import LiveScreen
from ckptdeck.tui.view_model.line import BLANK, Line, line
from ckptdeck.tui.view_model.view import View
from ckptdeck.tui.view_model.work import job_detail, job_head, job_line
from ckptdeck.tui.widgets.keyed_list import KeyedList
from ckptdeck.tui.widgets.line_view import LineView


class JobList(KeyedList):
    """Newest first, known by the job's number."""

    def __init__(self) -> None:
        super().__init__()
        self._jobs: dict[str, Job] = {}

    def show(self, jobs: Sequence[Job]) -> None:
        self._jobs = {str(job.id): job for job in jobs}
        self.set_keys(list(self._jobs))

    @property
    def under_cursor(self) -> Job | None:
        return None if self.cursor_key is None else self._jobs.get(self.cursor_key)

    def head(self, width: int) -> Line:
        return job_head(width)

    def row(self, key: str, width: int, *, cursor: bool) -> Line:
        return job_line(self._jobs[key], width, cursor=cursor)

    def empty(self, width: int) -> Sequence[Line]:
        return (BLANK, line("   No job has run yet."))


class JobsScreen(LiveScreen):
    PLACE = Place.JOBS
    BINDINGS = bindings_for(Place.JOBS)

    def __init__(self) -> None:
        super().__init__()
        self._list = JobList()

    def compose(self) -> ComposeResult:
        yield LineView(id="header")
        yield self._list
        yield LineView(id="story")
        yield LineView(id="footer")

    def paint(self, view: View) -> None:
        self._list.show(view.snapshot.jobs)
        self._paint_story()

    def _paint_story(self) -> None:
        view = self._view
        if view is not None:
            job = self._list.under_cursor
            self.query_one("#story", LineView).show(lambda width: job_detail(job, view, width))

    def on_keyed_list_moved(self, _event: KeyedList.Moved) -> None:
        self._paint_story()

    def action_pause(self) -> None:
        job = self._unfinished()
        if job is not None:
            self.post_message(JobAsked(job.id, JobVerb.RESUME if job.state is JobState.PAUSED else JobVerb.PAUSE))

    def action_cancel(self) -> None:
        job = self._unfinished()
        if job is not None:
            self.post_message(JobAsked(job.id, JobVerb.CANCEL))

    def _unfinished(self) -> Job | None:
        job = self._list.under_cursor
        if job is None or not job.state.over:
            return job
        self.post_message(Say(f"This job is over: {job.state}."))
        return None

    def action_copy_command(self) -> None:
        job = self._list.under_cursor
        if job is not None:
            self.post_message(CopyWanted(job.command))
