"""One of two ranks of a Trainer run: `hf_trainer_ranks.py PORT SET RANK`. The second saves its part late."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any


def main(port: str, root: str, rank: str) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": "2"}
    os.environ |= {"WORLD_SIZE": "2", "RANK": rank}
    from transformers import Trainer

    from ckptdeck.trainers.transformers import RecordCheckpoints
    from tests.integrations.libraries.hf_trainer import make_trainer

    class Late(Trainer):  # type: ignore[misc]
        def _save_rng_state(self, output_dir: str) -> None:
            if rank == "1":
                await_first_rank(Path(output_dir))
            super()._save_rng_state(output_dir)

    more: dict[str, Any] = {"ddp_backend": "gloo", "max_steps": 4, "save_steps": 2, "per_device_train_batch_size": 2}
    trainer = make_trainer(Path(root), Late, **more)
    trainer.add_callback(RecordCheckpoints())
    trainer.train()
    assert trainer.args.world_size == 2
    assert trainer.state.global_step == 4


def await_first_rank(place: Path) -> None:
    """Until the first rank has written its last file, and then as long as it needs to record too early."""
    while not (place / "trainer_state.json").exists():
        time.sleep(0.01)
    record = place.parent.parent / f".{place.parent.name}.ckptdeck" / "manifest" / f"{place.name}.json"
    for _ in range(100):
        if record.exists():
            return
        time.sleep(0.01)


if __name__ == "__main__":
    main(*sys.argv[1:])
