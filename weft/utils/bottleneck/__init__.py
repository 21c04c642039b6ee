"""``python -m weft.utils.bottleneck script.py``: where a program's time goes, in Python and in weft."""
