"""A real notebook, run in a kernel: each cell shows HTML. ``make types`` installs what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = """\
import weft, weft.nn as nn
weft.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Sequential(nn.Linear(16, 1)))
model
---
weft.randn(12, 20)
---
weft.randn(5, requires_grad=True) * 2
---
weft.summary(model, weft.ones(8, 4))
---
x = weft.randn(64, 4)
trainer = weft.train.Trainer(model, loss="mse", lr=0.01, max_epochs=20, progress=False)
trainer.fit((x, x.sum(1, keepdim=True)), validation=(x + 1, x.sum(1, keepdim=True) + 4))
---
f = weft.compile(lambda x: model(x).sum())
for _ in range(4): f(x)
f.report()
---
weft.view.make_dot(model(x[:2]).mean(), params=dict(model.named_parameters()))
---
attack = {"extra_repr": lambda self: "<script>document.title = 1</script>"}
type("<b>bold</b>", (nn.Module,), attack)()
""".split("---\n")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own libraries
def test_notebook_shows_html(tmp_path: Path) -> None:
    """All cells run; their last values are shown as HTML, the graph as a picture."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
    client.execute(cwd=str(tmp_path))
    nbformat.write(notebook, tmp_path / "shown.ipynb")
    for cell in notebook.cells:
        results = [o for o in cell.outputs if o.output_type == "execute_result"]
        assert len(results) == 1, cell.outputs
        data = results[0].data
        wanted = "image/svg+xml" if "make_dot" in cell.source else "text/html"
        assert wanted in data
        assert "<script" not in data[wanted]
    assert "&lt;script&gt;" in notebook.cells[-1].outputs[0].data["text/html"]
