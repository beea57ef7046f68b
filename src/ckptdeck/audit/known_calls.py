"""What known calls of the standard library and of training libraries write, copy, rename, delete and sync."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from enum import Enum, auto

from ckptdeck.audit.call_values import is_mode, path_opened
from ckptdeck.audit.module import Module, argument
from ckptdeck.audit.words import split


class Proof(Enum):
    """What it takes to believe that a call saves a checkpoint."""

    ITSELF = auto()
    """The call alone, unless names around it say otherwise."""
    NAMES = auto()
    """The path, what is saved or the function around it is named for one."""
    PATH = auto()
    """The path is named for one."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Where a call takes its target and what it writes there."""

    target: int
    """Which argument; -1: the object whose method it is."""
    keyword: str
    content: int | None
    proof: Proof
    into_stream: str = ""
    """How it is written into a stream instead, `{}` for what is saved; "" when it needs a path."""
    stream_only: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """One call that writes something."""

    call: ast.Call
    name: str
    target: ast.expr
    content: ast.expr | None
    writer: Writer


@dataclass(frozen=True, slots=True)
class Moved:
    """One copy or rename."""

    call: ast.Call
    name: str
    source: ast.expr
    target: ast.expr


_TENSORS = "fh.write({module}.save({{}}))"
_WRITERS = {
    "torch.save": Writer(1, "f", 0, Proof.ITSELF, "torch.save({}, fh)"),
    "torch.jit.save": Writer(1, "f", 0, Proof.NAMES, "torch.jit.save({}, fh)"),
    "paddle.save": Writer(1, "path", 0, Proof.ITSELF, "paddle.save({}, fh)"),
    "torch_xla.core.xla_model.save": Writer(1, "file_or_path", 0, Proof.ITSELF, "xm.save({}, fh)"),
    "numpy.save": Writer(0, "file", 1, Proof.NAMES, "numpy.save(fh, {})"),
    "numpy.savez": Writer(0, "file", 1, Proof.NAMES, "numpy.savez(fh, ...)"),
    "numpy.savez_compressed": Writer(0, "file", 1, Proof.NAMES, "numpy.savez_compressed(fh, ...)"),
    "joblib.dump": Writer(1, "filename", 0, Proof.NAMES, "joblib.dump({}, fh)"),
    "mlx.core.save_safetensors": Writer(0, "file", 1, Proof.ITSELF),
    "mlx.core.savez": Writer(0, "file", None, Proof.NAMES),
    **{
        f"safetensors.{kind}.save_file": Writer(
            1, "filename", 0, Proof.ITSELF, f"fh.write(safetensors.{kind}.save({{}}))"
        )
        for kind in ("torch", "numpy", "flax", "paddle", "tensorflow", "mlx")
    },
    "safetensors.torch.save_model": Writer(1, "filename", 0, Proof.ITSELF),
    **{
        f"{library}.dump": Writer(1, "file", 0, Proof.NAMES, f"{library}.dump({{}}, fh)", stream_only=True)
        for library in ("pickle", "dill", "cloudpickle", "msgpack")
    },
}
_METHODS = {
    "write_bytes": Writer(-1, "", 0, Proof.NAMES, "fh.write({})"),
    "save": Writer(0, "filepath", None, Proof.ITSELF),
    "save_weights": Writer(0, "filepath", None, Proof.ITSELF),
    "save_pretrained": Writer(0, "save_directory", None, Proof.PATH),
    "save_state": Writer(0, "output_dir", None, Proof.PATH),
}
_DIRECTORY_METHODS = frozenset({"save_pretrained", "save_state"})
_COPIES = frozenset({"shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree"})
_RENAMES = frozenset({"os.rename", "os.replace", "os.renames", "shutil.move"})
_DELETIONS = frozenset({"os.remove", "os.unlink", "shutil.rmtree", "os.removedirs"})
_SHELLS = frozenset({"os.system", "subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.Popen"})
_SYNCED_THINGS = frozenset({"file", "files", "dir", "directory", "disk", "data", "parent", "path", "flush"})

_NAMES = {name.rpartition(".")[2] for name in (*_WRITERS, *_METHODS)} | {"getsize", "rename", "unlink"}
_MAY_WRITE = re.compile(
    rf"\b(?:{'|'.join(sorted(_NAMES))})(?:\s*\(|\s+as\b)"
    r"|\b(?:shutil|tempfile|st_size|remove\s+as)\b|\bos\.remove|\bFile\s*\("
    r"""|['"](?:w[bt+]{0,2}['"]|cp\b)"""
)


def may_write(text: str) -> bool:
    """False for sources (most of them) in which no known call can be."""
    return bool(_MAY_WRITE.search(text))


def written_by(call: ast.Call, module: Module) -> Written | None:
    """What a call saves and where to, if it is a known save."""
    name = module.dotted(call.func)
    writer = _WRITERS.get(name)
    if writer is None and isinstance(call.func, ast.Attribute) and _has_method(call.func, module):
        name = call.func.attr
        writer = _METHODS.get(name)
    if writer is None:
        return None
    if writer.target < 0 and isinstance(call.func, ast.Attribute):
        target: ast.expr | None = call.func.value
    else:
        target = argument(call, writer.target, writer.keyword)
    content = None if writer.content is None else argument(call, writer.content)
    return None if target is None else Written(call, name, target, content, writer)


def makes_directory(written: Written) -> bool:
    return written.name in _DIRECTORY_METHODS


def opened_to_write(call: ast.Call, module: Module) -> tuple[ast.expr, str] | None:
    """The path and mode of an `open` that empties the file it opens, or makes it."""
    name = module.dotted(call.func)
    if name in ("open", "io.open", "gzip.open", "bz2.open", "lzma.open", "h5py.File"):
        path, mode = argument(call, 0, "file"), argument(call, 1, "mode")
    elif isinstance(call.func, ast.Attribute) and call.func.attr == "open":
        opened = path_opened(call)
        return opened if opened is not None and "w" in opened[1] else None
    else:
        return None
    if path is None or not isinstance(mode, ast.Constant) or not is_mode(mode):
        return None
    text = str(mode.value)
    if name == "h5py.File" and "w" in text:
        return path, "wb"
    return (path, text) if "w" in text else None


def copied_by(call: ast.Call, module: Module) -> Moved | None:
    """A copy made by the standard library or, where it is plain to see, by `cp`."""
    name = module.dotted(call.func)
    if name in _COPIES or name == "shutil.move":
        source, target = argument(call, 0, "src"), argument(call, 1, "dst")
        return None if source is None or target is None else Moved(call, name, source, target)
    if name in _SHELLS and call.args:
        return _copied_by_command(call, name)
    return None


def _copied_by_command(call: ast.Call, name: str) -> Moved | None:
    command = call.args[0]
    if isinstance(command, ast.List | ast.Tuple) and len(command.elts) >= 3:
        words = [word.value if isinstance(word, ast.Constant) else None for word in command.elts]
        operands = [piece for piece, word in zip(command.elts[1:], words[1:], strict=True) if not _is_option(word)]
        if words[0] == "cp" and len(operands) == 2 and not any(isinstance(piece, ast.Starred) for piece in operands):
            return Moved(call, f"{name} cp", operands[0], operands[1])
    if isinstance(command, ast.JoinedStr) and len(command.values) >= 3:
        first, *middle, last = command.values
        begins = isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value.startswith("cp ")
        if begins and isinstance(middle[0], ast.FormattedValue) and isinstance(last, ast.FormattedValue):
            return Moved(call, f"{name} cp", middle[0].value, last.value)
    return None


def _is_option(word: object) -> bool:
    return isinstance(word, str) and word.startswith("-")


def renamed_by(call: ast.Call, module: Module) -> Moved | None:
    """A rename, also one by a method whose owner is anybody's guess: what is renamed there had no final name."""
    name = module.dotted(call.func)
    if name in _RENAMES:
        source, target = argument(call, 0, "src"), argument(call, 1, "dst")
        return None if source is None or target is None else Moved(call, name, source, target)
    if not isinstance(call.func, ast.Attribute) or call.keywords:
        return None
    method = call.func.attr
    if method in ("rename", "replace") and len(call.args) == 1:
        return Moved(call, f"Path.{method}", call.func.value, call.args[0])
    if method in ("rename", "mv", "move") and len(call.args) == 2:
        return Moved(call, method, call.args[0], call.args[1])
    return None


def deleted_by(call: ast.Call, module: Module) -> ast.expr | None:
    """What a call deletes."""
    if module.dotted(call.func) in _DELETIONS:
        return argument(call, 0, "path")
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("unlink", "rmtree") and not call.args:
        return call.func.value
    return None


def is_sync(call: ast.Call, module: Module) -> bool:
    """`os.fsync`, `os.sync`, and functions named for it."""
    name = module.dotted(call.func) or (call.func.attr if isinstance(call.func, ast.Attribute) else "")
    words = split(name.rpartition(".")[2])
    if name == "os.sync" or any("fsync" in word or word in ("fdatasync", "syncfs") for word in words):
        return True
    return "sync" in words and not _SYNCED_THINGS.isdisjoint(words)


def _has_method(method: ast.Attribute, module: Module) -> bool:
    """Whether it is the known method of that name. `saving.save_weights(model, path)` is a function of a library, and
    others have methods called `save`."""
    owner: ast.expr = method.value
    words = split(owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else "")
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    if isinstance(owner, ast.Name) and owner.id in module.imported:
        return False
    if method.attr == "save_state":
        return "accelerator" in words
    if method.attr in ("save", "save_weights"):
        libraries = {origin.partition(".")[0] for origin in module.imported.values()}
        named = method.attr == "save_weights" or not words.isdisjoint({"model", "net", "network"})
        return named and not libraries.isdisjoint({"keras", "tensorflow"})
    return True
