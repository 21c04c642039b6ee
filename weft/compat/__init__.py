"""``weft.compat``: programs written for PyTorch, run and checked as they are. See docs/compat.md."""
