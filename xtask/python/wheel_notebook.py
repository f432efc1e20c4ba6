#!/usr/bin/env python3
"""Run the notebook in examples with the installed Python package:  wheel_notebook.py REPOSITORY"""

import sys
from pathlib import Path

import nbclient
import nbformat

examples = Path(sys.argv[1]) / "examples"
notebook = nbformat.read(examples / "notebook.ipynb", as_version=4)
# The first error ends it, with the cell and the traceback.
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(examples)}}).execute()
cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
shown = sum(bool(cell.outputs) for cell in cells)
assert any("text/html" in output.get("data", {}) for cell in cells for output in cell.outputs), "no report is shown"
print(f"the notebook runs: {len(cells)} cells, {shown} with output")
