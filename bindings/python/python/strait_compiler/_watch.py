"""Progress and remarks."""

from __future__ import annotations

import importlib
import logging
from typing import Any

logger = logging.getLogger("strait_compiler")

_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "note": logging.INFO}


class Watch:
    """Shows the progress by tqdm, where it is installed and wanted. Remarks go to ``logging``."""

    def __init__(self, progress: bool) -> None:
        self._bar: Any = None
        self._tqdm: Any = None
        if progress:
            try:
                self._tqdm = importlib.import_module("tqdm.auto").tqdm
            except ImportError:
                self._tqdm = None

    def begin(self, phase: str, total: int | None) -> None:
        self.end()
        if self._tqdm is not None and total is not None:
            self._bar = self._tqdm(total=total, desc=phase, leave=False, delay=0.5)

    def advance(self, done: int) -> None:
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def say(self, text: str) -> None:
        logger.info(text)

    def remark(self, severity: str, code: str, text: str) -> None:
        logger.log(_LEVELS.get(severity, logging.INFO), "%s [%s]", text, code)
