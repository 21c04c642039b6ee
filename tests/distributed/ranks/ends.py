"""Run by test_ends.py: one rank ends, or does not come, in the way that the argument says."""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta

how = sys.argv[1]
odd = os.environ.get("RANK", os.environ.get("PMI_RANK")) == "1"
if how == "early error" and odd:
    raise ValueError("before the group was made")
if how == "early end" and odd:
    sys.exit(0)

import weft  # noqa: E402
import weft.distributed as dist  # noqa: E402

dist.init_process_group()
hasty = dist.new_group(timeout=timedelta(seconds=1))
dist.barrier()
if odd:
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "error":
        raise ValueError("in the middle")
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "end":
        sys.exit(0)
    if how in ("late", "missing"):
        time.sleep(600)
if how == "late":
    dist.all_reduce(weft.ones(3), group=hasty)
if how == "missing":
    dist.monitored_barrier(timeout=timedelta(seconds=1))
dist.all_reduce(weft.ones(3))
if how == "caught":  # an error that a program deals with ends nobody
    try:
        dist.all_reduce(weft.ones(3 + odd))
    except dist.DistError:
        print("caught")
dist.barrier()
print("reached the end")
