"""One of two ranks of a Lightning run: `lightning_ranks.py PORT SET RANK`. Each is given its place by hand."""

from __future__ import annotations

import os
import sys


def main(port: str, root: str, rank: str) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "LOCAL_RANK": rank, "NODE_RANK": "0"}
    os.environ |= {"WORLD_SIZE": "2", "RANK": rank}
    from lightning.pytorch.callbacks import ModelCheckpoint
    from lightning.pytorch.strategies import DDPStrategy

    from ckptdeck.trainers.lightning import PublishingCheckpointIO
    from tests.integrations.libraries.lightning import Model, make_batches, make_trainer

    keeps = ModelCheckpoint(root, every_n_train_steps=2, save_top_k=-1)
    strategy = DDPStrategy(process_group_backend="gloo")
    more = {"strategy": strategy, "devices": 2, "use_distributed_sampler": False}
    trainer = make_trainer(max_steps=4, callbacks=[keeps], plugins=[PublishingCheckpointIO()], **more)
    trainer.fit(Model(), make_batches())
    assert trainer.world_size == 2
    assert trainer.global_step == 4


if __name__ == "__main__":
    main(*sys.argv[1:])
