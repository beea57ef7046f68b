"""What each key would take of the rows that are meant, told before it is pressed. The plan that follows is exact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ckptdeck.core.states import BAD, CANDIDATES, NOT_THERE, Role, State, Verdict
from ckptdeck.core.values import dataclass
from ckptdeck.tui.actions import BY_ID, Place
from ckptdeck.tui.key_map import KeyMap
from ckptdeck.tui.key_words import key_word
from ckptdeck.tui.view_model import measures
from ckptdeck.tui.view_model.glyphs import CHOSEN
from ckptdeck.tui.view_model.line import Ink, Line, Piece, line, width_of
from ckptdeck.tui.view_model.rows import Entry

ACTIONS = ("mirror", "repair", "restore", "adopt", "verify", "quarantine")
"""Ids of the actions that take rows, the ones that put something right first."""


_COPIED = frozenset({Verdict.MIRROR_ME, Verdict.ADOPT})


@dataclass(frozen=True, slots=True)
class Share:
    """So many rows, with so many bytes."""

    rows: int = 0
    size: int = 0


def shares_of(entries: Iterable[Entry]) -> Mapping[str, Share]:
    """By action id, what it would take of the rows."""
    shares = dict.fromkeys(ACTIONS, Share())
    for entry in entries:
        for action in actions_for(entry):
            known = shares[action]
            shares[action] = Share(known.rows + 1, known.size + entry.size)
    return shares


def actions_for(entry: Entry) -> tuple[str, ...]:
    """Ids of the actions that have something to do with a row, the most urgent first."""
    pair = entry.pair
    if pair is None:
        return ("quarantine",) if entry.troubled else ()
    primary, mirror = (_state(entry, role) for role in Role)
    found = []
    if pair.verdict is Verdict.REPAIR:
        found.append("repair")
    if primary in NOT_THERE and mirror is State.VERIFIED and primary is not None:
        found.append("restore")
    if _recordable(entry):
        found.append("adopt")
    if pair.verdict in _COPIED and (mirror is None or mirror in NOT_THERE):
        found.append("mirror")
    if any(_hashable(entry, role) for role in Role):
        found.append("verify")
    if any(state in BAD for state in (primary, mirror)):
        found.append("quarantine")
    return tuple(found)


def _state(entry: Entry, role: Role) -> State | None:
    checkpoint = entry.on(role)
    return None if checkpoint is None else checkpoint.state


def _recordable(entry: Entry) -> bool:
    copies = [copy for role in Role if (copy := entry.on(role)) is not None]
    return any(
        copy.state is State.CHANGED or (copy.state in CANDIDATES and copy.sighting.record is None) for copy in copies
    )


def _hashable(entry: Entry, role: Role) -> bool:
    copy = entry.on(role)
    return copy is not None and copy.sighting.record is not None and copy.sighting.identity is not None


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen rows, counted once: there may be very many."""

    rows: int
    size: int
    shares: Mapping[str, Share]


def choice_of(chosen: Sequence[Entry]) -> Choice | None:
    """None for none."""
    if not chosen:
        return None
    return Choice(len(chosen), sum(entry.size for entry in chosen), shares_of(chosen))


def choice_line(choice: Choice, width: int, keys: KeyMap) -> Line:
    """`● 3 chosen 7.41G   m Mirror 1 2.47G  V Verify 3 7.41G`; the shares that do not fit are left out."""
    head = line(Piece(f" {CHOSEN} ", Ink.ACCENT), Piece(f"{choice.rows:,} chosen", Ink.STRONG))
    pieces = [*head, Piece(f" {measures.size(choice.size)}  ")]
    for action, share in choice.shares.items():
        key = Piece(f" {key_word(keys, Place.OVERVIEW, action)} ", Ink.KEY)
        told = line(key, f"{BY_ID[action].label} {share.rows:,}")
        told = (*told, Piece(f" {measures.size(share.size)} ", Ink.MUTED))
        if share.rows and width_of(pieces) + width_of(told) <= width:
            pieces += told
    return tuple(pieces)
