"""What names and strings of a source speak of: checkpoints, something temporary, or something else altogether."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

Words = frozenset[str]
NO_WORDS: Words = frozenset()

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LETTERS = re.compile(r"[A-Za-z]+")
_ENDING = re.compile(r"\.([A-Za-z][A-Za-z0-9_]{0,14})(?=$|[^A-Za-z0-9_])")
_MENTION = re.compile(r"ckpt|checkpoint|state_dict", re.IGNORECASE)
_FILE_MENTION = re.compile(r"\.(?:pth?|safetensors)\b")
_LONGEST = 400
"""Characters of a string that are looked at: no path is longer, and prose says nothing about one."""


def these(words: str) -> Words:
    """A set of words, written as a text."""
    return frozenset(words.split())


_CHECKPOINT = these(
    """
    ckpt ckpts checkpoint checkpoints checkpointer checkpointing checkpointed weights optimizer optim .ckpt .distcp
    """
)
_CHECKPOINT_ENDINGS = these(".pt .pth .safetensors .gguf .msgpack safetensors")
"""One of these is enough: the code is about a checkpoint."""

_PERHAPS = these(
    """
    model models snapshot snapshots mirror resume step steps epoch epochs iteration best latest ema lora adapter shard
    shards scheduler trainer training train launcher net encoder decoder generator discriminator params state states
    weight
    """
)
"""Said of checkpoints and of much else."""

_OTHERWISE = these(
    """
    config configs configuration cfg log logs logfile logging plot plots figure fig image images img imgs video videos
    audio icon html css page template templates script scripts source sources code modeling readme license vocab
    vocabulary tokenizer merges cache cached caches debug dataset datasets feature features embedding embeddings
    prediction predictions predicted preds codes metric metrics result results report reports stats statistics profile
    profiler profiling trace traces tensorboard events font fonts doc docs docstring fixture fixtures golden expected
    benchmark benchmarks corpus wheel package packages plugin notebook notebooks kernel kernels offload offloaded
    activation activations gradient gradients grads sample samples labels annotation annotations indices memory
    dashboard card tokenizers processor processing extractor dump dumps dumping debugging inputs example examples scores
    losses logits generations answers codecache class import imports imported needed signal lock socket pid test tests
    testing
    .py .json .yaml .yml .toml .ini .cfg .md .txt .csv .tsv .log .html .png .jpg .jpeg .svg .pdf .sh .zip
    """
)
"""What a copy, a save or a deletion is about when it is about no checkpoint."""

_TEMPORARY = these(
    """
    temp temporary tempdir tempfile temppath tempname part partial staging staged scratch incomplete unfinished
    inprogress swp shm null
    """
)
_SET_ASIDE = these("bak backup old prev previous trash quarantine broken corrupt corrupted deleted removed")

_POINTER = these("latest last best tracker pointer marker resume current checkpointed")
_ANOTHER_DISK = these("mirror mnt mount nfs remote archive archived backup backups external")
_LAUNCHER = these("launch launcher resume mirror")
_DAMAGE = these("truncated broken corrupt corrupted incomplete damaged invalid bad empty missing partial small")
_LARGE = these("large larger largest big bigger huge mmap chunk chunks chunked multipart")


def split(name: str) -> Words:
    """`save_ckptPath2` → {save, ckpt, path}."""
    return frozenset(piece.lower() for word in _LETTERS.findall(name[:_LONGEST]) for piece in _CAMEL.split(word))


def split_text(text: str) -> Words:
    """The words of a string that may be (a part of) a path, its endings as `.pt`."""
    if len(text) > _LONGEST:
        return NO_WORDS
    return split(_ENDING.sub(" ", text)) | {f".{ending.lower()}" for ending in _ENDING.findall(text)}


def names_a_checkpoint(words: AbstractSet[str]) -> bool:
    return not _CHECKPOINT.isdisjoint(words) or {"state", "dict"} <= words


def ends_like_a_checkpoint(words: AbstractSet[str]) -> bool:
    return not _CHECKPOINT_ENDINGS.isdisjoint(words)


def hints_of_checkpoints(words: AbstractSet[str]) -> AbstractSet[str]:
    """What is said of checkpoints and of much else."""
    return _PERHAPS & words


def mentions_checkpoints(source: str) -> bool:
    """Whether a whole source speaks of checkpoints anywhere, comments included."""
    return bool(_MENTION.search(source))


def mentions_weight_files(source: str) -> bool:
    """Whether it speaks of files that end like one."""
    return bool(_FILE_MENTION.search(source))


def speaks_of_another_disk(words: AbstractSet[str]) -> bool:
    """A move there is a copy."""
    return not _ANOTHER_DISK.isdisjoint(words)


def speaks_of_something_else(words: AbstractSet[str]) -> bool:
    return not _OTHERWISE.isdisjoint(words)


def speaks_of_temporary(words: AbstractSet[str]) -> bool:
    if "stage" in words and not words.isdisjoint({"dir", "directory", "folder"}):
        return True
    return any(map(_is_temporary, words))


def without_temporary(words: Words) -> Words:
    return frozenset(word for word in words if not _is_temporary(word))


def _is_temporary(word: str) -> bool:
    return word.lstrip(".") in _TEMPORARY or word.startswith(("tmp", ".tmp"))


def speaks_of_setting_aside(words: AbstractSet[str]) -> bool:
    """A rename to such a name puts something old away; it gives nothing new its name."""
    return any(word.lstrip(".") in _SET_ASIDE for word in words)


def speaks_of_a_launcher(words: AbstractSet[str]) -> bool:
    """What starts runs and carries their checkpoints about."""
    return not _LAUNCHER.isdisjoint(words)


def speaks_of_pointer(words: AbstractSet[str]) -> bool:
    """`latest_checkpoint.txt`: a small file that says which one to load."""
    return not _POINTER.isdisjoint(words)


def speaks_of_damage(words: AbstractSet[str]) -> bool:
    """`is_truncated(path)` is true for what is too small."""
    return not _DAMAGE.isdisjoint(words)


def speaks_of_large(words: AbstractSet[str]) -> bool:
    """`find_large_files` asks for size and means size."""
    return not _LARGE.isdisjoint(words)
