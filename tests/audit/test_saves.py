"""Saves straight to a final name, and what is none."""

from __future__ import annotations

import pytest

from tests.audit.sources import report_of, rules_in

FOUND = {
    "torch": "def save(state, path): torch.save(state, path)",
    "torch by keyword": "torch.save(obj=model.state_dict(), f='model.pt')",
    "through an alias": "from torch import save as put\ndef keep(checkpoint, p): put(checkpoint, p)",
    "joined": "torch.save(state, os.path.join(out_dir, f'step_{step}.pt'))",
    "a path object": "torch.save(ckpt, Path(out_dir) / 'last.ckpt')",
    "into an opened file": """
        def save(state, d):
            with open(d / "model.pt", "wb") as f:
                torch.save(state, f)
    """,
    "an attribute": """
        class Trainer:
            def __init__(self, d): self.path = os.path.join(d, "ckpt.pt")
            def save(self): torch.save(self.model.state_dict(), self.path)
    """,
    "one member of a directory": "torch.save(optimizer.state_dict(), os.path.join(output_dir, 'optimizer.pt'))",
    "safetensors": "from safetensors.torch import save_file\nsave_file(model.state_dict(), out / 'model.safetensors')",
    "numpy": "np.savez(os.path.join(ckpt_dir, 'params.npz'), **params)",
    "pickle": "def save_checkpoint(state, path):\n    with open(path, 'wb') as f: pickle.dump(state, f)",
    "bytes": "(Path(d) / f'epoch{epoch}.pt').write_bytes(serialized_ckpt)",
    "plain writing": "with open('weights.bin', 'wb') as out: out.write(weights.tobytes())",
    "h5py": "import h5py\nwith h5py.File('model_weights.h5', 'w') as f: f['w'] = w",
    "keras": "import keras\nmodel.save_weights('best.weights.h5')",
    "keras, whole": "from tensorflow import keras\nmodel.save(f'model_{epoch}.keras')",
    "a state": "accelerator.save_state(os.path.join(out, f'checkpoint_{step}'))",
    "a directory": "model.save_pretrained(f'checkpoint-{step}')",
    "a pointer": "with open(os.path.join(d, 'latest_checkpoint'), 'w') as f: f.write(name)",
    "after a backup": "def save(state, path):\n    os.rename(path, path + '.bak')\n    torch.save(state, path)",
    "one of two callers is final": """
        def _write(state, p): torch.save(state, p)
        def one(state, path): _write(state, path + ".tmp")
        def two(state, path): _write(state, path)
    """,
    "the temporary name is taken off": "def save(state, tmp): torch.save(state, tmp.removesuffix('.tmp'))",
    "the cache is not written": "def build(model, cache): torch.save(model.state_dict(), 'model.pt')",
}
QUIET = {
    "a part": "torch.save(state, path + '.part')",
    "a temporary name": "tmp_path = f'{path}.tmp'\ntorch.save(model, tmp_path)",
    "another suffix": "torch.save(model, Path(p).with_suffix('.tmp'))",
    "a temporary directory": "with tempfile.TemporaryDirectory() as d: torch.save(model, os.path.join(d, 'model.pt'))",
    "a temporary file": "with tempfile.NamedTemporaryFile() as f: torch.save(model, f.name)",
    "a staging directory": "torch.save(state, os.path.join(staging, 'model.pt'))",
    "renamed afterwards": """
        fresh = path + "-new"
        torch.save(model, fresh)
        os.fsync(fd)
        os.replace(fresh, path)
        os.fsync(fd)
    """,
    "its directory is renamed": """
        def save(model, final):
            fresh = final + "-new"
            torch.save(model, os.path.join(fresh, "model.pt"))
            fsync_tree(fresh)
            os.rename(fresh, final)
            fsync_directory(final)
    """,
    "renamed by a function": """
        def settle(a, b): os.replace(a, b); fsync_dir(b)
        def save(model, path):
            fresh = path + "-new"
            torch.save(model, fresh)
            fsync_file(fresh)
            settle(fresh, path)
    """,
    "all callers are temporary": """
        def _write(state, p): torch.save(state, p)
        def save(state, path): _write(state, path + ".tmp")
    """,
    "a buffer": "import io\nbuffer = io.BytesIO()\ntorch.save(model, buffer)",
    "a stream": "def save(model, stream): torch.save(model, stream)",
    "a stream by its type": "from typing import BinaryIO\ndef save(model, target: BinaryIO): torch.save(model, target)",
    "a stream by its use": "def save(model, target):\n    torch.save(model, target)\n    target.flush()",
    "ours": "from ckptdeck import publish\nwith publish(d, 'step_1.pt') as fh: torch.save(model, fh)",
    "our directory": """
        from ckptdeck import publish_directory
        with publish_directory(d, "s") as p:
            torch.save(m, p + "/model.pt")
    """,
    "somebody's atomic writer": "with atomic_write(path) as p: torch.save(model, p)",
    "a callback": "atomic_save(lambda p: torch.save(model, p), path)",
    "a remote file": "f = fs.open('bucket/model.pt', 'wb')\ntorch.save(model, f)",
    "predictions": "torch.save(predictions, os.path.join(out, 'predictions.pt'))",
    "a cache": "torch.save(tokens, os.path.join(cache_dir, 'cached_features.pt'))",
    "debugging": "def dump_inputs(model, x): torch.save(x, 'x.pt')",
    "nothing says checkpoint": "torch.save(x, y)",
    "arrays": "np.save('mean.npy', mean)\nnp.save(os.path.join(data_dir, 'train.npy'), x)",
    "an image": "image.save('model.png')",
    "a configuration": "with open(os.path.join(ckpt_dir, 'config.json'), 'w') as f: json.dump(cfg, f)",
    "a log": "with open(f'{ckpt_dir}/train.log', 'w') as f: f.write(line)",
    "reading": "with open('weights.bin', 'rb') as f: w = pickle.load(f)",
    "a tokenizer": "tokenizer.save_pretrained(checkpoint_dir)",
    "weights of somebody's own": "bridge.save_weights(self.models, output_dir)  # the checkpoint",
    "a remote service": "client.save_state(ckpt_name)",
    "a graph": "torch.save(L.as_dict(), lang_dir / 'L.pt')",
    "a form": "checkpoint_form.save()",
    "a function of another library": "import saving\ndef save(self, path): saving.save_weights(self, path)",
    "a member of an archive": """
        with zipfile.ZipFile(buf, "w") as z:
            with z.open("model.pth", mode="w") as f:
                torch.save(m, f)
    """,
    "offloaded weights": """
        from safetensors.torch import save_file
        def offload(w, safetensors_file):
            save_file(w, safetensors_file)
    """,
    "within a temporary directory": """
        with tempfile.TemporaryDirectory() as d:
            torch.save(model, (Path(d) / n).with_suffix(".pt"))
    """,
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_a_save_straight_to_a_final_name_is_found(source: str) -> None:
    assert rules_in(source) == ["save-to-final"]


@pytest.mark.parametrize("source", QUIET.values(), ids=QUIET)
def test_what_is_no_such_save_is_quiet(source: str) -> None:
    assert rules_in(source) == []


def test_the_cure_is_the_call_as_it_would_be() -> None:
    (finding,) = report_of("def save(model, p): torch.save(model.state_dict(), p)").findings
    assert "`with ckptdeck.publish(directory, name) as fh: torch.save(model.state_dict(), fh)`" in finding.instead
    (finding,) = report_of("model.save_pretrained(checkpoint_dir)").findings
    assert "with ckptdeck.publish_directory(directory, name) as path: model.save_pretrained(path)" in finding.instead


def test_the_place_is_that_of_the_call() -> None:
    report = report_of("\n\nif 1:\n    torch.save(model.state_dict(),\n               'model.pt')")
    (finding,) = report.findings
    assert (finding.line, finding.column, finding.severity) == (8, 5, "high")
