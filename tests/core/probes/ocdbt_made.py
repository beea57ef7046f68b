"""Makes Orbax checkpoints large enough for damage on whole pages: OCDBT stores and zarr chunks, of zstd's raw blocks.

No compressor is needed: a frame may hold its content as it is.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Mapping

from ckptdeck.core.probes.crc32c import crc32c
from ckptdeck.core.probes.ocdbt_format import KEYS, MANIFEST, VERSIONS
from tests.core.probes.tables_of_keys import varint

ROOT_FILE, VALUE_FILE, STAGE_FILE = "0" * 32, "1" * 32, "2" * 32
DATA = f"default/ocdbt.process_0/d/{VALUE_FILE}"
ROOT = f"default/d/{ROOT_FILE}"
STAGE = f"default/ocdbt.process_0/d/{STAGE_FILE}"
_BLOCK = 100_000
_UUID = bytes(range(16))


def frame(content: bytes) -> bytes:
    """A zstd frame of raw blocks that says how much it holds."""
    blocks = [content[at : at + _BLOCK] for at in range(0, len(content), _BLOCK)] or [b""]
    raw = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<L", len(content))
    for number, block in enumerate(blocks, 1):
        raw += (len(block) << 3 | int(number == len(blocks))).to_bytes(3, "little") + block
    return raw


def made_values(seed: int) -> dict[str, bytes]:
    """1.4 MB in three arrays of floats."""
    values = random.Random(seed)
    return {name: values.randbytes(4 * length) for name, length in (("a", 150_001), ("b", 120_003), ("c", 80_005))}


def zarray(length: int) -> bytes:
    document: dict[str, object] = {
        "chunks": [length],
        "compressor": {"id": "zstd", "level": 1},
        "dimension_separator": ".",
    }
    document |= {"dtype": "<f4", "fill_value": None, "filters": None, "order": "C", "shape": [length], "zarr_format": 2}
    return json.dumps(document).encode()


def item_metadata(names: list[str], *, ocdbt: bool) -> bytes:
    leaf = {"value_metadata": {"value_type": "np.ndarray", "skip_deserialize": False}}
    leaves = {str((name,)): {"key_metadata": [{"key": name, "key_type": 2}], **leaf} for name in names}
    document: dict[str, object] = {"tree_metadata": leaves, "use_ocdbt": ocdbt, "use_zarr3": False}
    return json.dumps(document | {"store_array_data_equal_to_fill_value": True, "custom_metadata": None}).encode()


def step_metadata(items: Mapping[str, str] | str, *, committed: bool = True) -> bytes:
    times = {"init_timestamp_nsecs": 1, "commit_timestamp_nsecs": 2 if committed else None}
    return json.dumps({"item_handlers": items, "metrics": {}, **times, "custom_metadata": {}}).encode()


def zarr_step(values: Mapping[str, bytes]) -> dict[str, bytes]:
    """A step that is its own item, each array a directory with one chunk."""
    files = {"_CHECKPOINT_METADATA": step_metadata("handler"), "_METADATA": item_metadata([*values], ocdbt=False)}
    for name, content in values.items():
        files |= {f"{name}/.zarray": zarray(len(content) // 4), f"{name}/0": frame(content)}
    return files


def ocdbt_step(values: Mapping[str, bytes], *, packed: bool = True, versions: bool = False) -> dict[str, bytes]:
    """A step with one item: a store that one process wrote in two stages, and the store that it was merged into.

    `packed`: nodes are zstd frames. `versions`: the merged manifest has its version in a node of its own.
    """
    rows: list[tuple[bytes, bytes | tuple[int, int]]] = []
    data = b""
    for name, content in sorted(values.items()):
        rows.append((f"{name}/.zarray".encode(), zarray(len(content) // 4)))
        rows.append((f"{name}/0".encode(), (len(data), len(frame(content)))))
        data += frame(content)
    stage = envelope(KEYS, leaf([row for row in rows if isinstance(row[1], bytes)], ""), packed=packed)
    own = envelope(KEYS, leaf(rows, f"d/{VALUE_FILE}"), packed=packed)
    merged = envelope(KEYS, leaf(rows, f"ocdbt.process_0/d/{VALUE_FILE}", len("ocdbt.process_0/")), packed=packed)
    of_process = [(f"d/{STAGE_FILE}", 0, len(stage)), (f"d/{VALUE_FILE}", len(data), len(own))]
    root = [(f"d/{ROOT_FILE}", 0, len(merged))]
    if versions:
        node = envelope(VERSIONS, b"\4\0" + _roots(root), packed=packed)
        older = [(f"d/{ROOT_FILE}", len(merged), len(node))]
        merged += node
    else:
        older = []
    return {
        "_CHECKPOINT_METADATA": step_metadata({"default": "handler"}),
        "default/_METADATA": item_metadata([*values], ocdbt=True),
        "default/manifest.ocdbt": manifest([] if older else root, older, packed=packed),
        ROOT: merged,
        "default/ocdbt.process_0/manifest.ocdbt": manifest(of_process, [], packed=packed),
        DATA: data + own,
        STAGE: stage,
    }


def envelope(magic: bytes, body: bytes, *, packed: bool) -> bytes:
    inner = b"\0" + (b"\1" + frame(body) if packed else b"\0" + body)
    raw = magic + struct.pack("<Q", 12 + len(inner) + 4) + inner
    return raw + struct.pack("<L", crc32c(raw))


def manifest(
    roots: list[tuple[str, int, int]], older: list[tuple[str, int, int]], *, packed: bool, kind: int = 0
) -> bytes:
    """Roots and nodes of versions: (data file, offset, length)."""
    config = _UUID + varint(kind) + varint(100) + varint(1 << 23) + b"\4" + b"\1" + bytes(4)
    paths = sorted({path for path, _, _ in (*roots, *older)})
    body = config + _files([(path, 0) for path in paths])
    body += _root_array(roots, paths) + _version_array(older, paths)
    return envelope(MANIFEST, body, packed=packed)


def leaf(rows: list[tuple[bytes, bytes | tuple[int, int]]], path: str, base: int = 0) -> bytes:
    """A node of keys with values in the node, or at (offset, length) of the one data file."""
    outside = [value for _, value in rows if isinstance(value, tuple)]
    body = b"\0" + _files([(path, base)] if outside else []) + varint(len(rows))
    body += b"\0" * (len(rows) - 1) + b"".join(varint(len(key)) for key, _ in rows) + b"".join(key for key, _ in rows)
    body += b"".join(varint(value[1] if isinstance(value, tuple) else len(value)) for _, value in rows)
    body += bytes(isinstance(value, tuple) for _, value in rows)
    body += b"\0" * len(outside) + b"".join(varint(offset) for offset, _ in outside)
    return body + b"".join(value for _, value in rows if isinstance(value, bytes))


def _files(files: list[tuple[str, int]]) -> bytes:
    """(path, length of its base), no beginnings shared."""
    return (
        varint(len(files))
        + b"\0" * max(0, len(files) - 1)
        + b"".join(varint(len(path)) for path, _ in files)
        + b"".join(varint(base) for _, base in files)
        + "".join(path for path, _ in files).encode()
    )


def _roots(roots: list[tuple[str, int, int]]) -> bytes:
    paths = sorted({path for path, _, _ in roots})
    return _files([(path, 0) for path in paths]) + _root_array(roots, paths)


def _root_array(roots: list[tuple[str, int, int]], paths: list[str]) -> bytes:
    generations = b"".join(varint(number) for number in range(1, len(roots) + 1))
    heights, times = b"\0" * len(roots), bytes(8 * len(roots))
    return varint(len(roots)) + generations + heights + _places(roots, paths) + b"\0" * 3 * len(roots) + times


def _version_array(older: list[tuple[str, int, int]], paths: list[str]) -> bytes:
    generations, times = b"\1" * len(older), bytes(8 * len(older))
    return varint(len(older)) + generations + _places(older, paths) + generations + times + b"\1" * len(older)


def _places(places: list[tuple[str, int, int]], paths: list[str]) -> bytes:
    return b"".join(
        [varint(paths.index(path)) for path, _, _ in places]
        + [varint(offset) for _, offset, _ in places]
        + [varint(length) for _, _, length in places]
    )
