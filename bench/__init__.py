"""The same work in weft and its peers, measured in turns and printed as ratios.

``python -m bench`` runs everything; ``bench/README.md`` says how to read it and add a row.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # samples and helpers
