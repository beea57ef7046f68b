"""Values that a large set is made of by the hundred thousand: frozen for the type checker, and quick to make.

A look at 10,000 checkpoints makes some 80,000 of them, and a launch script waits for every class that is defined. The
standard library's frozen classes take five to ten times as long to make, because each is guarded at run time; the type
checker, which is part of the tests, guards these. And they take long to define: six functions are compiled for each,
by a module that loads the disassembler. Here a class needs one function of its own, `__init__`, which is compiled when
the first value is made; what only the standard library asks for is there when it asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:
    from operator import attrgetter

    _NOTHING = object()

    class _Field:
        """One field, with the names that `dataclasses.field` has for what it knows."""

        __slots__ = ("compare", "default", "default_factory", "init", "name", "repr")

        def __init__(self, default, default_factory, init, repr, compare):
            self.default = default
            self.default_factory = default_factory
            self.init = init
            self.repr = repr
            self.compare = compare

    def field(*, default=_NOTHING, default_factory=_NOTHING, init=True, repr=True, compare=True):
        """`dataclasses.field`, as far as it is used."""
        return _Field(default, default_factory, init, repr, compare)

    def dataclass(*, slots, frozen=False, eq=True):
        """`dataclasses.dataclass(slots=True)`, with equality, hash and repr shared by all classes.

        Without inheritance and class variables, which no value needs.
        """
        assert slots

        def build(cls):
            body = dict(cls.__dict__)
            fields = [_take(body, name) for name in cls.__annotations__]
            names = tuple(each.name for each in fields)
            for name in ("__dict__", "__weakref__"):
                del body[name]
            body["__slots__"] = names
            body["__match_args__"] = tuple(each.name for each in fields if each.init)
            body["_fields"] = fields
            body["__dataclass_fields__"] = _StandardFields()
            body["__init__"] = _first_init
            body.setdefault("__repr__", _repr)
            if eq:
                compared = [each.name for each in fields if each.compare]
                body["_content"] = staticmethod(attrgetter(*compared))
                body.setdefault("__eq__", _equal)
                body["__hash__"] = _hash if frozen else None
            built = type(cls)(cls.__name__, cls.__bases__, body)
            built.__qualname__ = cls.__qualname__
            return built

        return build

    def replace(value, /, **changes):
        """`dataclasses.replace`."""
        for each in value._fields:
            if each.init and each.name not in changes:
                changes[each.name] = getattr(value, each.name)
        return value.__class__(**changes)

    def _take(body, name):
        found = body.pop(name, _NOTHING)
        if not isinstance(found, _Field):
            assert not hasattr(found, "default_factory"), f"{name}: its field is the standard library's, not of here"
            assert found.__class__.__hash__ is not None, f"{name}: one value would be shared by all"
            found = field(default=found)
        found.name = name
        return found

    def _first_init(self, *args, **kwargs):
        cls = self.__class__
        cls.__init__ = _compile_init(cls)
        cls.__init__(self, *args, **kwargs)

    def _compile_init(cls):
        parameters, lines, known = ["self"], [], {"_NOTHING": _NOTHING}
        for each in cls._fields:
            name, default = each.name, ""
            value = name if each.init else ""
            if each.default_factory is not _NOTHING:
                known[f"_make_{name}"] = each.default_factory
                default = "=_NOTHING"
                value = f"{name} if {name} is not _NOTHING else _make_{name}()" if each.init else f"_make_{name}()"
            elif each.default is not _NOTHING:
                known[f"_default_{name}"] = each.default
                default = f"=_default_{name}"
                value = value or f"_default_{name}"
            if each.init:
                parameters.append(name + default)
            if value:
                lines.append(f" self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append(" self.__post_init__()")
        exec("\n".join((f"def __init__({', '.join(parameters)}):", *(lines or [" pass"]))), known)
        return known["__init__"]

    def _equal(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self is other or self._content(self) == self._content(other)

    def _hash(self):
        return hash(self._content(self))

    def _repr(self):
        shown = (f"{each.name}={getattr(self, each.name)!r}" for each in self._fields if each.repr)
        return f"{self.__class__.__qualname__}({', '.join(shown)})"

    class _StandardFields:
        """Makes `dataclasses.replace`, `asdict` and `fields` work, for whoever has values of ours in hand."""

        def __get__(self, _value, cls):
            import dataclasses

            told = ("default", "default_factory")
            cls.__dataclass_fields__ = dataclasses.make_dataclass(
                cls.__name__,
                [
                    (
                        each.name,
                        cls.__annotations__[each.name],
                        dataclasses.field(
                            init=each.init,
                            repr=each.repr,
                            compare=each.compare,
                            **{key: getattr(each, key) for key in told if getattr(each, key) is not _NOTHING},
                        ),
                    )
                    for each in cls._fields
                ],
            ).__dataclass_fields__
            return cls.__dataclass_fields__
