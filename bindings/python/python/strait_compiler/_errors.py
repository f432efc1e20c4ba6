"""The exceptions, one class for each kind of fault."""

from __future__ import annotations


class StraitError(Exception):
    """An error of Strait.

    ``code`` is stable: a letter and three digits as on the command line (``strait explain CODE``), or ``call`` or
    ``defect``. ``help`` is advice, and ``layer`` the name of the layer that the error is about, if there are any.
    """

    def __init__(self, code: str, message: str, help: str | None = None, layer: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help
        self.layer = layer

    def __str__(self) -> str:
        text = f"[{self.code}] {self.message}"
        return f"{text}\nhelp: {self.help}" if self.help else text

    def __reduce__(self) -> tuple[type[StraitError], tuple[str, str, str | None, str | None]]:
        return type(self), (self.code, self.message, self.help, self.layer)


class ModelError(StraitError):
    """The model cannot be read or run."""


class ConfigurationError(StraitError):
    """A key or a rule is wrong, or asks for something impossible."""


class SampleError(StraitError):
    """The samples cannot be used."""


class TargetError(StraitError):
    """There is no such target, or it cannot do what is asked for."""


class ArtifactError(StraitError):
    """An artifact is damaged, or cannot be read or written."""


class EvaluationError(StraitError):
    """The evaluation is not possible."""


_BY_LETTER: dict[str, type[StraitError]] = {
    "A": ArtifactError,
    "C": ConfigurationError,
    "D": SampleError,
    "E": EvaluationError,
    "M": ModelError,
    "Q": ConfigurationError,
    "T": TargetError,
}


def made(code: str, message: str, help: str, layer: str | None) -> StraitError:
    """The exception for a code."""
    kind = _BY_LETTER.get(code[:1], StraitError) if code[1:].isdigit() else StraitError
    return kind(code, message, help or None, layer)
