#!/usr/bin/env python3
"""Install a wheel of the Python package into a fresh environment and use it:  wheel.py WHEEL PACKAGE

Started by `cargo xtask dist --check`. WHEEL is the wheel, PACKAGE the folder bindings/python.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def fresh(folder, *packages):
    """The interpreter of a new environment with these packages."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
    return python


def main():
    wheel, package = map(Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        for numpy in ("numpy>=1.26,<2", "numpy>=2"):
            if numpy.endswith("<2") and sys.version_info >= (3, 13):
                print("skipped: there is no NumPy 1 for this Python")
                continue
            python = fresh(Path(folder) / numpy[7:8], str(wheel), numpy)
            subprocess.run([python, Path(__file__).with_name("wheel_use.py"), REPOSITORY], check=True)
    subprocess.run([sys.executable, "-m", "mypy", "--strict", "strait_compiler"], cwd=package / "python", check=True)


if __name__ == "__main__":
    main()
