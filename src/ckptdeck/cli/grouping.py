"""What `init` found in a directory and which names it takes for one checkpoint, for an operator to confirm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ckptdeck.core.amounts import counted, size_text
from ckptdeck.core.naming import GROUP_FAMILIES
from ckptdeck.core.safe_text import visible
from ckptdeck.core.siblings import kinds_of_parts
from ckptdeck.core.sighting import Checkpoint
from ckptdeck.core.states import Kind, State
from ckptdeck.core.survey import Side

_SHAPES_TOLD = 4


def families(side: Side) -> Counter[str]:
    """Family → how many checkpoints of it are there."""
    return Counter(checkpoint.sighting.family for checkpoint in side.present)


def group_shapes(side: Side) -> Counter[tuple[tuple[str, int], ...]]:
    """(name with # for its numbers, how many) of the files that are one checkpoint → of how many checkpoints."""
    return Counter(_shape(one) for one in side.present if one.sighting.kind is Kind.GROUP)


def found_lines(side: Side) -> Iterator[str]:
    """One line per family and kind with a count, a size and an example, and of groups what each is made of."""
    kinds = dict.fromkeys((one.sighting.family, one.sighting.kind) for one in side.present)
    for family, kind in kinds:
        alike = [one for one in side.present if (one.sighting.family, one.sighting.kind) == (family, kind)]
        yield _family_line(family, kind, alike)
        if kind is Kind.GROUP:
            yield from _shape_lines(alike)
    foreign = [checkpoint for checkpoint in side.checkpoints if checkpoint.state is State.FOREIGN]
    if foreign:
        yield f"{counted(len(foreign), 'other name')}, never touched, like {visible(foreign[0].name)}"
    if not kinds and not foreign:
        yield "nothing in it yet"


def confirmation(sides: tuple[Side, ...], policy_path: str) -> str | None:
    """What to do where names were put together that are not one checkpoint; None where none were by their words."""
    by_words = [
        one
        for side in sides
        for one in side.present
        if one.sighting.kind is Kind.GROUP and one.sighting.family not in GROUP_FAMILIES
    ]
    if not by_words:
        return None
    return (
        f"files of one step are one checkpoint, as with {visible(by_words[0].name)}; if they are not, "
        f"set `group = false` under [checkpoints] in {visible(policy_path)} before anything is recorded"
    )


def _family_line(family: str, kind: Kind, alike: list[Checkpoint]) -> str:
    steps = [checkpoint.step for checkpoint in alike if checkpoint.step is not None]
    reach = f", steps {min(steps)} to {max(steps)}" if steps else ""
    size = size_text(sum(checkpoint.size for checkpoint in alike))
    slash = "/" if kind is Kind.DIRECTORY else ""
    count = counted(len(alike), "checkpoint")
    return f"{count} {family}, {size}{reach}, like {visible(alike[0].name)}{slash}"


def _shape_lines(alike: list[Checkpoint]) -> Iterator[str]:
    """The commonest first: "each is meta_#.json + model_#.pt + 2 optim_#_rank#.pt"."""
    shapes = Counter(map(_shape, alike))
    for shape, count in shapes.most_common(_SHAPES_TOLD):
        whose = "each is" if len(shapes) == 1 else f"{count:,} {'is' if count == 1 else 'are'}"
        parts = (visible(kind) if number == 1 else f"{number} {visible(kind)}" for kind, number in shape)
        yield f"  {whose} {' + '.join(parts)}"
    if len(shapes) > _SHAPES_TOLD:
        yield f"  and {len(shapes) - _SHAPES_TOLD} more combinations"


def _shape(checkpoint: Checkpoint) -> tuple[tuple[str, int], ...]:
    identity = checkpoint.sighting.identity
    paths = (member.path for member in identity.members) if identity is not None else ()
    return tuple(sorted(kinds_of_parts(paths).items()))
