"""Run by test_launch.py: prints what a launched process finds."""

from __future__ import annotations

import os
import sys

import helper_beside_program

import weft
import weft.distributed as dist

dist.init_process_group()
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
every: list = [None] * dist.get_world_size()
line = (sys.argv[1:], [os.environ[n] for n in names], weft.get_num_threads(), __name__)
dist.all_gather_object(every, line)
if dist.get_rank() == 0:
    print(*every, helper_beside_program.__name__, sep="\n")
