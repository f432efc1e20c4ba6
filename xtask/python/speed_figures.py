"""Measured figures: shown as lines of a table, saved, and compared with saved ones."""

import json
import statistics
from dataclasses import asdict, dataclass


@dataclass
class Figure:
    name: str
    unit: str
    ours: float
    peer: float | None = None
    peer_name: str = ""
    ratio: float | None = None  # ours : peer; the median of the rounds
    spread: float = 0.0  # half of the distance between the smallest and the largest ratio, relative to the median
    mark: float | None = None  # of the ratio, or of our own figure if there is no peer
    limit: float | None = None  # what the processor can reach at best, in the same unit
    at_least: bool = False  # the figure shall be large and not small

    @property
    def judged(self):
        return self.ours if self.ratio is None else self.ratio

    @property
    def is_missed(self):
        if self.mark is None:
            return False
        return self.judged < self.mark if self.at_least else self.judged > self.mark


def of_rounds(name, unit, rounds, peer_name, **other):
    """A figure of rounds in turns: pairs of ours and the peer's."""
    ratios = [ours / peer for ours, peer in rounds]
    ratio = statistics.median(ratios)
    ours, peer = (statistics.median(column) for column in zip(*rounds))
    spread = (max(ratios) - min(ratios)) / 2 / ratio
    return Figure(name, unit, ours, peer, peer_name, ratio, spread, **other)


def number(value):
    return "" if value is None else f"{value:.4g}"


class Figures:
    def __init__(self):
        self.all = []

    def add(self, figure):
        """Keeps a figure and shows it."""
        if not self.all:
            print(f"{'':<44} {'ours':>9} {'peer':>9} {'ratio':>7} {'±':>5} {'mark':>6} {'limit':>8}")
        self.all.append(figure)
        ratio = "" if figure.ratio is None else f"{figure.ratio:.3f}"
        spread = "" if figure.ratio is None else f"{100 * figure.spread:.0f} %"
        missed = "  missed" if figure.is_missed else ""
        print(
            f"{figure.name:<44} {number(figure.ours):>9} {number(figure.peer):>9} {ratio:>7} {spread:>5} "
            f"{number(figure.mark):>6} {number(figure.limit):>8} {figure.unit} {figure.peer_name}{missed}",
            flush=True,
        )

    def missed(self):
        said = {False: "above", True: "below"}
        return [f"{f.name}: {f.judged:.3g} is {said[f.at_least]} the mark {f.mark:g}" for f in self.all if f.is_missed]

    def save(self, path):
        path.write_text(json.dumps([asdict(figure) for figure in self.all], indent=1) + "\n")

    def worse(self, path, tolerance):
        """Ratios that are worse than in the file by more than the tolerance and the spread of both."""
        saved = {figure["name"]: Figure(**figure) for figure in json.loads(path.read_text())}
        found = []
        for figure in self.all:
            before = saved.get(figure.name)
            # Figures without a peer are of this machine alone, except for numbers without a unit.
            if before is None or None in (before.ratio, figure.ratio) and figure.unit:
                continue
            allowed = 1 + tolerance + before.spread + figure.spread
            now, then = (figure.judged, before.judged) if not figure.at_least else (1 / figure.judged, 1 / before.judged)
            if now > then * allowed:
                found.append(f"{figure.name}: {figure.judged:.3g}, and {before.judged:.3g} in {path}")
        return found


def skipped(what, why):
    print(f"skipped: {what}: {why}", flush=True)
