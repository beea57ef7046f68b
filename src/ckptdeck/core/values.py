"""Values that a large set is made of by the hundred thousand: frozen for the type checker, and quick to make.

A look at 10,000 checkpoints makes some 80,000 of them, and a launch script waits for every class that is defined. The
standard library's frozen classes take five to ten times as long to make, and longer to define, because each is
given functions of its own that guard it at run time; the type checker, which is part of the tests, guards these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from operator import attrgetter

    def dataclass(*, frozen, slots):
        """`dataclasses.dataclass(frozen=True, slots=True)`, with equality, hash and repr shared by all classes."""
        assert frozen
        assert slots

        def build(cls):
            built = dataclasses.dataclass(repr=False, eq=False, slots=True)(cls)
            compared = [field.name for field in dataclasses.fields(built) if field.compare]
            built._content = staticmethod(attrgetter(*compared))
            for method in (_equal, _hash, _repr):
                if method.__name__ not in cls.__dict__:
                    setattr(built, method.__name__, method)
            return built

        return build

    def _equal(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self is other or self._content(self) == self._content(other)

    def _hash(self):
        return hash(self._content(self))

    def _repr(self):
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    _equal.__name__, _hash.__name__, _repr.__name__ = "__eq__", "__hash__", "__repr__"
