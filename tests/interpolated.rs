//! Tests functions that are computed by straight lines between table entries. The result of every code is compared with
//! the lines in real numbers and with the function itself.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::num::NonZeroUsize;
use strait_core::Op;
use strait_core::text::parse;
use strait_execute::{Plan, PlanOptions, Tensor, TensorView, Threads, Workspace, reference};
use strait_kernels::{Context, Isa};
use strait_tests::integer::{InMemory, findings, integer};

/// Every 16-bit code, with a scale so that they go from -8 to 8.
fn every_code() -> Vec<Tensor> {
    let scale = 8.0 / 32_767.0;
    let reals: Vec<f32> = (-32_768..32_768).map(|code| code as f32 * scale).collect();
    vec![Tensor::from_values(&[65_536], &reals).unwrap()]
}

fn real(function: &str, x: f64) -> f64 {
    match function {
        "sigmoid" => 1.0 / (1.0 + (-x).exp()),
        "tanh" => x.tanh(),
        "exp" => x.exp(),
        _ => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
    }
}

#[test]
fn every_code_is_on_the_line_between_two_rounded_entries() {
    // The largest distance from the function in codes: |f''|·h²/8 in the middle of a line over h = 128 codes, and half
    // a code for each of two roundings. The exponential's last entry, which lies behind the last code, saturates, so
    // its last line ends too low.
    for (function, most) in [("sigmoid", 1.21), ("tanh", 3.9), ("exp", 8.01), ("hard_swish", 1.01)] {
        let text = format!(
            "strait 1 float graph @main(%x: f32[65536]) {{ %y: f32[65536] = unary(%x) {{function={function}}} return %y }}"
        );
        let samples = InMemory(vec![every_code()]);
        let integer = integer(&parse(&text).unwrap(), "filetests/tables/lines.toml", &samples).unwrap();
        assert_eq!(findings(&integer.module, &integer.fusion), Ok(Vec::new()));
        let (module, graph) = (&integer.module, integer.module.main());
        let (_, node) = graph
            .nodes()
            .find(|(_, node)| matches!(node.op, Op::Interpolate(_)))
            .unwrap();
        let grid = |id| graph.value(id).unwrap().quant.as_ref().unwrap().as_tensor().unwrap();
        let ((x_scale, x_zero), (y_scale, y_zero)) = (grid(node.inputs[0].unwrap()), grid(node.outputs[0]));
        assert_eq!((x_zero, y_zero), (0, 0));
        let entries = module
            .constant(graph, node.inputs[1].unwrap())
            .unwrap()
            .to_i64()
            .unwrap();
        assert_eq!(entries.len(), 513);
        let ideal = |code: i64| {
            let real = real(function, f64::from(x_scale) * code as f64) / f64::from(y_scale);
            real.clamp(-32_768.0, 32_767.0)
        };
        for (i, &entry) in entries.iter().enumerate() {
            assert!(
                (ideal(i as i64 * 128 - 32_768) - entry as f64).abs() <= 0.5001,
                "{function}: entry {i}"
            );
        }
        let inputs = every_code();
        let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
        let mut found = Vec::new();
        let mut observe = |id, tensor: TensorView<'_>| {
            if id == node.outputs[0] {
                found = tensor.to_tensor().to_data().unwrap().to_i64().unwrap();
            }
        };
        let expected = reference::run(module, module.main, &views, &mut observe).unwrap();
        let mut worst = 0f64;
        for (code, &y) in (-32_768i64..).zip(&found) {
            let (i, f) = ((code + 32_768) as usize / 128, (code + 32_768) % 128);
            // Rounded half up: ⌊(t·(128 − f) + u·f + 64) / 128⌋.
            let line = (entries[i] * (128 - f) + entries[i + 1] * f + 64).div_euclid(128);
            assert_eq!(y, line, "{function} at {code}");
            worst = worst.max((ideal(code) - y as f64).abs());
        }
        println!("{function}: {worst:.3} of {most}");
        assert!(worst <= most && 0.95 * most <= worst, "{function} is {worst} codes off");
        // An increasing function never decreases, so its bounds are the results at its ends.
        let rises = function != "hard_swish";
        assert!(!rises || found.is_sorted(), "{function}");
        for isa in Isa::available() {
            let options = PlanOptions {
                context: Context::with_isa(isa),
                ..PlanOptions::default()
            };
            let plan = Plan::new(module, module.main, &options).unwrap();
            let threads = Threads::new(NonZeroUsize::MIN);
            assert!(
                plan.run(&mut Workspace::new(&plan, &threads), &views).unwrap() == expected,
                "{function}"
            );
        }
    }
}
