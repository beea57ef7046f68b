"""`python -m ckptdeck`."""

from __future__ import annotations

import sys

from ckptdeck.cli.main import main

sys.exit(main())
