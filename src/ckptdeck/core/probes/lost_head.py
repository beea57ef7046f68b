"""Files whose first page reads as zeros, where their name says that nothing they could be begins so (G3)."""

from __future__ import annotations

from ckptdeck.core.probes.msgpack import is_named_by_flax
from ckptdeck.core.probes.reading import PAGE, Reader, is_zero
from ckptdeck.core.sighting import StructureFinding
from ckptdeck.core.states import Structure

_TORCH = "torch.load says \"KeyError: filename 'storages' not found\", as it took the file for a tar"
_PICKLE = "pickle.load says \"invalid load key, '\\x00'\""
_HDF5 = 'h5py says "file signature not found"'
_SAYS = {
    ".pt": _TORCH,
    ".pth": _TORCH,
    ".npy": 'np.load says "Failed to interpret file as a pickle"',
    ".npz": 'np.load says "This file contains pickled (object) data" or "Failed to interpret file as a pickle"',
    ".pkl": _PICKLE,
    ".pickle": _PICKLE,
    ".joblib": 'joblib.load says "KeyError: 0", of a compressed file "KeyError: 63"',
    ".msgpack": 'flax says "unpack(b) received extra data"',
    ".gguf": 'gguf says "GGUF magic invalid"',
    ".h5": _HDF5,
    ".hdf5": _HDF5,
    ".keras": 'keras says "File not found ... Please ensure the file is an accessible `.keras` zip file"',
}
_FORMATS = {
    ".pt": "torch-legacy",
    ".pth": "torch-legacy",
    ".npy": "npy",
    ".pkl": "pickle",
    ".pickle": "pickle",
    ".joblib": "joblib",
    ".msgpack": "flax-msgpack",
    ".gguf": "gguf",
    ".keras": "keras",
}


def looks_headless(head: bytes, name: str) -> bool:
    """Whether a whole page of zeros stands where the name promises something else."""
    return len(head) == PAGE and is_zero(head) and (_extension(name) in _FORMATS or is_named_by_flax(name))


def probe_headless(reader: Reader, name: str) -> StructureFinding:
    """Broken where no file of the name's format begins with zeros, else suspect."""
    extension = _extension(name)
    text = f"the first {PAGE:,} of {reader.size:,} bytes read as zeros, where its header should be"
    if extension not in _FORMATS:
        return StructureFinding(Structure.SUSPECT, "", text, loader_says=_SAYS[".msgpack"])
    return StructureFinding(Structure.BROKEN, _FORMATS[extension], text, loader_says=_SAYS[extension])


def says_of_zeros(name: str) -> str:
    """What the library that reads files of this name makes of zeros at their start, "" where none is known."""
    return _SAYS.get(_extension(name), "")


def _extension(name: str) -> str:
    return name[name.rfind(".") :] if "." in name else ""
