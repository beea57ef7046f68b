from __future__ import annotations

import errno
import os
from pathlib import Path

from ckptdeck.core.filesystem import FileSystem
from ckptdeck.core.states import Role, State
from ckptdeck.core.verify import verify_one
from tests.core.workbench import Workbench


def test_bad_news_without_room_takes_the_good_receipt_back(tmp_path: Path) -> None:
    class Full(FileSystem):
        full = False

        def pwrite(self, fd: int, data: memoryview, offset: int) -> int:
            if self.full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().pwrite(fd, data, offset)

    fs = Full()
    bench = Workbench.fresh(tmp_path, fs)
    bench.publish("step_1.pt", b"x" * 5000, readback=True)
    path = bench.primary / "step_1.pt"
    times = path.stat()
    path.write_bytes(b"y" * 5000)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    fs.full = True
    assert verify_one(bench.host, bench.on(Role.PRIMARY), "step_1.pt").state is State.CORRUPT
    assert bench.manifest().receipt("step_1.pt") is None
