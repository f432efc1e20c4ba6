#!/usr/bin/env python3
"""Run every command and every program of docs/deploy, page by page, in the repository. Started by `cargo xtask oracles --deploy`."""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strait", type=Path, required=True)
    parser.add_argument("--repository", type=Path, required=True)
    arguments = parser.parse_args()
    folders = [arguments.strait.parent, Path(sys.executable).parent]
    environment = os.environ | {"PATH": os.pathsep.join([*map(str, folders), os.environ["PATH"]])}
    failed = 0
    for page in sorted((arguments.repository / "docs" / "deploy").glob("*.md")):
        blocks = BLOCK.findall(page.read_text())
        unknown = {language for language, _ in blocks} - {"sh", "python", "toml", "text"}
        # The programs of a page are one program, as a reader types them into one session.
        shell = "set -euo pipefail\n" + "".join(text for language, text in blocks if language == "sh")
        program = "".join(text for language, text in blocks if language == "python")
        commands = [["bash", "-c", shell], [sys.executable, "-c", program]]
        for command in commands:
            done = subprocess.run(command, cwd=arguments.repository, env=environment, capture_output=True, text=True)
            if done.returncode or unknown:
                print(f"WRONG   {page.name}: {unknown or done.stdout[-500:] + done.stderr[-1500:]}")
                failed += 1
                break
        else:
            print(f"{page.name}: {len(blocks)} blocks run. {done.stdout.strip().splitlines()[-1] if done.stdout else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
