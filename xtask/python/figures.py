"""What the scripts find of written files, for the table that `cargo xtask oracles` prints at its end: one figure for each format, runtime
and model."""

import os


def record(format, runtime, model, figure):
    """Appends a figure to the file that the caller names, if it wants one. `figure` is a text, such as `counted` gives."""
    path = os.environ.get("STRAIT_FIGURES")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write("\t".join([format, runtime, model, figure]) + "\n")


def counted(differing, elements, *notes):
    return ", ".join([f"{differing} of {elements}", *(note for note in notes if note)])
