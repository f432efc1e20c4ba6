"""The report of a compilation as objects."""

from __future__ import annotations

import builtins
import html
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Layer:
    """An operation of the integer model."""

    name: str
    op: str
    sources: list[str]
    host: str | None
    """Why it runs on the host; ``None`` if it runs on the accelerator."""
    form: str | None
    evidence: str | None


@dataclass(frozen=True)
class Accuracy:
    """A metric. ``float`` is ``None`` if the metric compares with the float model."""

    name: str
    float: builtins.float | None
    integer: builtins.float | None
    interval: tuple[builtins.float, builtins.float] | None
    """The 95 % interval of the integer model's figure."""


@dataclass(frozen=True)
class Gate:
    """A requirement of ``[gate]``."""

    name: str
    met: bool
    text: str


@dataclass(frozen=True)
class Remark:
    """A warning or a note."""

    severity: str
    code: str
    text: str


@dataclass(frozen=True)
class Report:
    """The report. ``raw`` is all of ``report.json``."""

    target: str
    accelerator: int
    host: int
    exact_fusions: int
    bounded_fusions: int
    float_bytes: int
    integer_bytes: int
    layers: list[Layer]
    accuracy: list[Accuracy]
    gates: list[Gate]
    remarks: list[Remark]
    raw: dict[str, Any] = field(repr=False)

    @staticmethod
    def parse(text: str) -> Report:
        """The report in the text of ``report.json``."""
        raw: dict[str, Any] = json.loads(text)
        summary, size = raw["summary"], raw["size"]

        def figure(item: dict[str, Any] | None) -> float | None:
            return None if item is None else item["value"]

        def interval(item: dict[str, Any] | None) -> tuple[float, float] | None:
            found = None if item is None else item.get("interval")
            return None if found is None else (found[0], found[1])

        return Report(
            target=raw["target"]["id"],
            accelerator=summary["accelerator"],
            host=summary["host"],
            exact_fusions=summary["exact"],
            bounded_fusions=summary["bounded"],
            float_bytes=size["float_bytes"],
            integer_bytes=size["integer_bytes"],
            layers=[
                Layer(
                    name=layer["name"],
                    op=layer["op"],
                    sources=layer["sources"],
                    host=layer["host"] and layer["host"]["text"],
                    form=layer["form"],
                    evidence=layer["evidence"],
                )
                for layer in raw["layers"]
            ],
            accuracy=[
                Accuracy(metric["name"], figure(metric["float"]), figure(metric["integer"]), interval(metric["integer"]))
                for metric in (raw["accuracy"] or {}).get("metrics", [])
            ],
            gates=[Gate(gate["gate"], gate["met"], gate["text"]) for gate in raw["gates"]],
            remarks=[Remark(one["severity"], one["code"], one["text"]) for one in raw.get("remarks", [])],
            raw=raw,
        )

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ("target", self.target),
            ("layers", f"{self.accelerator} on the accelerator, {self.host} on the host"),
            ("fusions", f"{self.exact_fusions} exact, {self.bounded_fusions} within a proven bound"),
            ("parameters", f"{self.integer_bytes / 1e6:.2f} MB; {self.float_bytes / 1e6:.2f} MB in the float model"),
        ]
        for metric in self.accuracy:
            before = "" if metric.float is None else f"{metric.float:.4g} in float, "
            rows.append((metric.name, f"{before}{metric.integer:.4g} in integers" if metric.integer is not None else "not measured"))
        rows += [(f"gate {gate.name}", f"{'met' if gate.met else 'not met'}: {gate.text}") for gate in self.gates]
        rows += [(f"{layer.name} ({layer.op})", f"on the host: {layer.host}") for layer in self.layers if layer.host]
        rows += [(f"{remark.severity} {remark.code}", remark.text) for remark in self.remarks]
        return rows

    def __str__(self) -> str:
        return "\n".join(f"{name}: {text}" for name, text in self._rows())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self._rows()
        )
        return f"<table>{rows}</table>"
