#!/usr/bin/env python3
"""Install a wheel of the Python package into fresh environments and use it:  wheel.py WHEEL PACKAGE

Started by `cargo xtask dist --check`. WHEEL is the wheel, PACKAGE the folder bindings/python. The package is used with the oldest
Python that it takes and with the newest one that is installed, with NumPy 1 and 2, and the notebook runs in an environment of its
own. PyTorch is large, so its modules are tried only if STRAIT_CHECK_TORCH is set.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
OLDEST = (3, 10)


def interpreters():
    """The installed versions of Python that the package takes: {(3, 10): path}."""
    names = [f"python3.{minor}" for minor in range(OLDEST[1], 30)]
    found = [shutil.which(name) for name in names]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found += sorted(pyenv.glob("versions/*/bin/python3"))
    versions = {}
    for python in [sys.executable, *filter(None, found)]:
        # A launcher may be there for a version that is not.
        said = subprocess.run([python, "--version"], capture_output=True, text=True)
        version = re.match(r"Python (\d+)\.(\d+)", said.stdout)
        if said.returncode == 0 and version:
            versions.setdefault(tuple(map(int, version.groups())), python)
    return {version: python for version, python in versions.items() if version >= OLDEST}


def fresh(base, folder, *packages):
    """The interpreter of a new environment with these packages."""
    subprocess.run([base, "-m", "venv", folder], check=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
    return python


def use(script, base, folder, *packages):
    subprocess.run([fresh(base, folder, *packages), HERE / script, REPOSITORY], check=True)
    shutil.rmtree(folder)


def main():
    wheel, package = map(Path, sys.argv[1:3])
    versions = interpreters()
    newest = max(versions)
    if OLDEST not in versions:
        print(f"skipped: Python {OLDEST[0]}.{OLDEST[1]} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for version in sorted({min(versions), newest}):
            for numpy in ("numpy>=1.26,<2", "numpy>=2"):
                if numpy.endswith("<2") and version >= (3, 13):
                    print(f"skipped: there is no NumPy 1 for Python {version[0]}.{version[1]}")
                    continue
                use("wheel_use.py", versions[version], folder / "use", wheel, numpy)
        use("wheel_notebook.py", versions[newest], folder / "notebook", wheel, "ipykernel", "nbclient", "pandas", "tqdm")
        if os.environ.get("STRAIT_CHECK_TORCH"):
            use("wheel_torch.py", versions[newest], folder / "torch", wheel, "torch", "onnx", "onnxscript")
        else:
            print("skipped: modules of PyTorch (set STRAIT_CHECK_TORCH to try them)")
    subprocess.run([sys.executable, "-m", "mypy", "--strict", "strait_compiler"], cwd=package / "python", check=True)


if __name__ == "__main__":
    main()
