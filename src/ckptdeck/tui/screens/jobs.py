"""Running and finished work: how far, how fast, how it ended, and what to do when it failed."""

from __future__ import annotations

from collections.abc import Sequence

from ckptdeck.monitor.snapshot import Job, JobState
from ckptdeck.tui.actions import Place
from ckptdeck.tui.bindings import bindings_for
from ckptdeck.tui.messages import CopyWanted, JobAsked, JobVerb, Say
from ckptdeck.tui.screens.listing import ItemList, ListScreen
from ckptdeck.tui.view_model.line import BLANK, Line, line
from ckptdeck.tui.view_model.view import View
from ckptdeck.tui.view_model.work import job_detail, job_head, job_line


class JobList(ItemList[Job]):
    """Newest first, known by the job's number."""

    def key_of(self, item: Job) -> str:
        return str(item.id)

    def head(self, width: int) -> Line:
        return job_head(width)

    def row(self, key: str, width: int, *, cursor: bool) -> Line:
        return job_line(self._items[key], width, cursor=cursor)

    def empty(self, width: int) -> Sequence[Line]:
        return (BLANK, line("   No job has run yet."))


class JobsScreen(ListScreen[Job]):
    PLACE = Place.JOBS
    BINDINGS = bindings_for(Place.JOBS)

    def __init__(self) -> None:
        super().__init__(JobList())

    def items_of(self, view: View) -> Sequence[Job]:
        return view.snapshot.jobs

    def story(self, item: Job | None, view: View, width: int) -> tuple[Line, ...]:
        return job_detail(item, view, width)

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
