//! A small report for the tests of this crate.

use serde_json::json;
use strait_report::{Analysis, Report};

/// A report of a model with two layers, whose names contain this text.
pub(crate) fn report(name: &str) -> Report {
    let verdict = json!("exact");
    let layer = |own: &str, reads: &str, makes: &str| {
        json!({
            "name": format!("{own}{name}:accumulate"), "sources": [format!("{own}{name}:accumulate"), format!("{own}{name}")],
            "op": "conv", "host": null,
            "operands": [
                {"name": reads, "elem": "i8", "shape": [1, 3, 8, 8]},
                {"name": format!("{own}{name}.weight"), "elem": "i8", "shape": [4, 3, 3, 3], "constant": true},
            ],
            "operations": 6912,
            "results": [{"name": makes, "elem": "i8", "shape": [1, 4, 8, 8], "grid": {"scale": [0.5], "zero_point": [-3]}}],
            "form": "tf_lite", "free_integers": null, "from_scales": null, "clamp": [-128, 127],
            "fusion": {
                "layer": format!("{own}{name}:accumulate"), "row": "conv-tflite", "verdict": verdict,
                "claim": format!("exact, for {name}"), "accumulators": [-40_000, 39_000], "dropped_clamp": null,
            },
            "evidence": "measured", "rests_on": ["op conv"], "outside": [],
        })
    };
    let (first, second) = (format!("x{name}"), format!("y{name}"));
    // A gray pixel.
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
    let picture = json!({"picture": {"size": [1, 1], "each": 1, "png": png}});
    let report = json!({
        "schema": 2, "strait": "0.1.0",
        "target": {"id": "chip", "version": "1", "reference": "a chip", "evidence": "measured"},
        "remarks": [{"severity": "warning", "code": "X-1", "text": format!("of {name}")}],
        "set": [format!("a.b=\"{name}\"")],
        "settings": {"optimize": {"preset": name}},
        "summary": {"accelerator": 2, "host": 0, "conversions": 0, "exact": 2, "bounded": 0, "unfused": 0, "requantized": 0},
        "evidence": {"claim": "follows a chip", "layers": {"proved": 0, "measured": 2, "documented": 0, "assumed": 0}, "rows": []},
        "size": {"float_bytes": 4000, "integer_bytes": 1000},
        "sanity": {"samples": 8, "outputs": [{"output": second, "compared": 8, "snr": 31.0}]},
        "accuracy": null, "gates": [{"gate": "size", "met": true, "text": format!("{name} is small")}],
        "layers": [layer("a", "in", &first), layer("b", &first, &second)],
        "fusions": {"fired": [], "refused": [], "merged": [], "rows": [{
            "row": "conv-far", "ops": ["conv"], "evidence": "measured", "missed": [{
                "layer": format!("b{name}:accumulate"), "value": second, "failed_at": "conditions", "instead": null,
                "reason": {"code": "type", "text": "too far"},
            }],
        }, {
            "row": "conv-wide", "ops": ["conv"], "evidence": "measured", "missed": [{
                "layer": format!("b{name}:accumulate"), "value": second, "failed_at": "form", "instead": null,
                "reason": {"code": "type", "text": format!("{name} is i8, not i32")},
            }],
        }]},
        "lints": [{"code": "range-wide", "text": format!("about {name}"), "layer": format!("a{name}"), "tensor": first,
            "channel": null, "taken": null}],
        "rewrites": [], "rules": [],
        "distributions": [{"tensor": first, "from": -1.0, "width": 0.5, "counts": [1, 5, 9, 2], "seen": [-0.9, 0.8],
            "grid": [-1.0, 1.0], "step": 0.1, "clipped": 0.0}],
        "weights": [{"layer": format!("a{name}"), "tensor": format!("a{name}.weight"), "channels": 4, "each": 1,
            "per_tensor": false, "most": [0.5, 0.25, 0.75, 1.0], "snr": [41.0, 39.5, null, 12.0]}],
        "seen": [
            {"input": name, "shape": [1, 3, 8, 8], "of": 40, "undone": true, "white": 255, "samples": [
                {"sample": 0, "name": format!("{name}.png"), "look": picture},
                {"sample": 1, "name": name, "look": {"picture": {"size": [8, 8], "each": 1, "png": "\" onerror=\"alert(1)"}}},
            ]},
            {"input": format!("b{name}"), "shape": [4], "of": 40, "undone": false, "white": 255, "samples": [
                {"sample": 0, "look": {"curve": [[-1.0, 0.5], [0.0, 2.0]]}},
            ]},
            {"input": "ids", "shape": [4], "of": 40, "undone": false, "white": 255, "samples": [], "left_out": format!("i64 {name}")},
        ],
        "changed": [{"output": second, "compared": 100, "changed": 1, "lost": 1, "won": 0, "samples": [{
            "seen": {"sample": 7, "name": name, "look": picture}, "label": 3,
            "float": {"class": 3, "score": 9.5, "margin": 0.25}, "integer": {"class": 5, "score": 9.25, "margin": 0.125},
        }]}],
    });
    serde_json::from_value(report).unwrap()
}

/// An analysis of this report.
pub(crate) fn analysis(name: &str) -> Analysis {
    let change = json!({"value": -2.0, "standard_error": null, "interval": [-3.0, -1.0], "by": null});
    let layer = |own: &str, entire: f64, jumps: bool| {
        json!({
            "layer": format!("{own}{name}"), "op": "conv", "share": 0.5, "single": entire, "entire": entire,
            "cosine": 0.99, "before": 35.0, "jumps": jumps,
            "reasons": [{"code": "outliers", "text": format!("because of {name}"), "toml": format!("# {name}")}],
        })
    };
    let analysis = json!({
        "schema": 1, "strait": "0.1.0", "target": "chip", "evaluated": 100,
        "metrics": [{
            "name": "top1", "output": null, "unit": "percent", "float": null, "integer": null, "change": change,
            "shares": [{"cause": "weights", "change": change}, {"cause": "host", "change": null, "note": format!("no {name}")}],
        }],
        "samples": 8,
        "layers": [layer("a", 38.0, false), layer("b", 9.0, true)],
        "tried": [{"layer": format!("b{name}"), "toml": format!("layers = [\"{name}\"]"),
            "changes": [{"value": 1.5, "standard_error": null, "interval": [1.0, 2.0], "by": null}],
            "snr": [9.0, 20.0], "wide": 0.5, "host": 0.0}],
    });
    serde_json::from_value(analysis).unwrap()
}
