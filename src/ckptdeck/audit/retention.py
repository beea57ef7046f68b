"""Old checkpoints deleted in an order that is not the order of their steps."""

from __future__ import annotations

from collections.abc import Iterator

from ckptdeck.audit.examination import Examination, Subject
from ckptdeck.audit.finding import Finding
from ckptdeck.audit.known_calls import deleted_by
from ckptdeck.audit.rules import BY_TEXT, BY_TIME
from ckptdeck.audit.trace import Mark

_INSTEAD = (
    "Order by the step as a number, as in `key=lambda path: int(Path(path).stem.rpartition('_')[2])`; or let "
    "`ckptdeck prune --keep-last N` do it, which deletes only what is proven elsewhere"
)


def find_retention(look: Examination) -> Iterator[Finding]:
    for call in look.module.calls:
        victim = deleted_by(call, look.module)
        if victim is None:
            continue
        trace = look.trace(victim, call)
        if not trace.has(Mark.SOME) or trace.has(Mark.BY_KEY | Mark.NUMBER | Mark.TEMPORARY):
            continue
        by_time = trace.has(Mark.BY_TIME) or (trace.has(Mark.SORTED) and trace.has(Mark.TIMED))
        by_text = trace.has(Mark.SORTED) and trace.has(Mark.LISTING) and not look.module.pads_numbers
        if (by_time or by_text) and look.subject(call, trace) >= Subject.LIKELY:
            order = "by modification time" if by_time else "by name, as text"
            what = f"`{look.module.text_of(call)}` deletes from a list that is ordered {order}"
            yield look.finding(BY_TIME if by_time else BY_TEXT, call, what, _INSTEAD)
