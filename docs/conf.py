"""The settings of the documentation site, which `make docs` builds with Sphinx."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import weft  # noqa: E402

project = "weft"
author = "the authors of weft"
version = release = weft.__version__
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["Thumbs.db"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.xref_missing", "myst.header", "ref.python"]
highlight_language = "text"
pygments_style = "friendly"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
toc_object_entries_show_parents = "hide"
python_display_short_literal_types = True
python_maximum_signature_line_length = 88
html_theme = "furo"
html_title = f"weft {version}"
html_show_copyright = html_show_sphinx = False
html_copy_source = False
html_static_path = ["pictures/site"]
html_css_files = ["site.css"]


def setup(app: Any) -> None:
    """Writes the API reference before the pages are read."""
    import reference

    app.connect("builder-inited", lambda _: reference.write())
