"""The policy file that `init` writes: every key explained, everything at its default and commented out."""

from __future__ import annotations

POLICY_TEMPLATE = r"""# Policy of this pair of checkpoint sets. Everything is at its default; take the # away before
# a key to change it. `ckptdeck config` shows what is in force. Options on the command line beat this file.

[checkpoints]
# Names of your own, as regular expressions over the whole name with a group called `step`. Tried before the known
# families. A name that has a record is a checkpoint whatever this says.
# patterns = ['run1_(?P<step>\d+)\.pt']

# Names that are never checkpoints: * ? and [...] as in the shell. They are shown as foreign and never touched.
# ignore = ["scratch*"]

# Files of one step whose names say that they are parts of it, such as model_000810.pt and optim_000810_rank0.pt, are
# one checkpoint. `ckptdeck init` shows how names are grouped. With false every file is its own.
# group = true

[prune]
# How many of the newest steps stay, on both sides together. 1 or more.
# keep_last = 12

# Also keep every step that is a multiple of this.
# keep_every = 1000

# Also keep the best by a metric that publish recorded: COUNT:METRIC, with :max when more is better.
# keep_best = "3:loss"

# The sides prune may take from. Leave only "mirror" where the trainer keeps a list of its own (Orbax).
# sides = ["primary", "mirror"]

# Nothing younger than this is ever deleted, moved or replaced. Can be raised; less than 5m is refused.
# min_age = "5m"

[verify]
# How long a verification counts before a plan hashes the checkpoint again.
# max_age = "7d"

# The most that verify and copies may read in a second. Without it they read as fast as idle priority lets them.
# rate = "200MB/s"

# Read copies back from the device and compare before they get their name.
# readback = true

[space]
# The share of a volume that copies leave free.
# reserve = "1%"

[watch]
# How often both sides are looked at. 0.5s or more.
# poll = "2s"

# A command that `ckptdeck watch` runs with `sh -c` when something goes wrong, once for each trouble. What it is stands
# in $CKPTDECK_TROUBLE, a sentence a line; $CKPTDECK_PRIMARY and $CKPTDECK_MIRROR are the directories.
# notify = 'notify-send ckptdeck "$CKPTDECK_TROUBLE"'

[run]
# How the run is started again; {path} becomes the checkpoint to resume from, quoted for the shell.
# resume_command = "python train.py --resume {path}"
"""
