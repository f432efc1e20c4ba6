//! Tests outputs of the model that other layers also read: they keep numbers that a clamp after them cuts off.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_core::text::parse;
use strait_kernels::Isa;
use strait_tests::integer::{InMemory, integer};
use strait_tests::numeric::{inputs, run, signal_to_noise};

const CONV: &str = "{stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}";

#[test]
fn an_output_in_front_of_a_bound_keeps_what_that_cuts_off() {
    let shape = "f32[1,4,6,6]";
    let bounds = [
        format!("%r: {shape} = relu(%c) %s: {shape} = relu(%d)"),
        format!("%r: {shape} = clip(%c) {{min=0.0, max=0.5}} %s: {shape} = clip(%d) {{min=0.0, max=0.5}}"),
        format!("%e: {shape} = add(%c, %d) %r: {shape} = relu(%e) %s: {shape} = relu(%d)"),
    ];
    for bound in bounds {
        let made = if bound.contains("%e") { "%e" } else { "%c" };
        let text = format!(
            "strait 1 float graph @main(%x: {shape}) {{
               %c: {shape} = conv(%x, @w) {CONV}
               %d: {shape} = conv(%x, @u) {CONV}
               {bound}
               %k: f32[1,8,6,6] = concat(%r, %s) {{axis=1}}
               return %k, {made} }}
             data @w: f32[4,4,1,1] = random 1
             data @u: f32[4,4,1,1] = random 2"
        );
        let float = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let samples = InMemory((0..4).map(|seed| inputs(&float, seed, 2.0)).collect());
        for target in ["generic-int8", "sima", "ascend"] {
            let made = integer(&float, target, &samples).unwrap_or_else(|error| panic!("{target}: {error}\n{text}"));
            for output in 0..2 {
                let all = |module: &strait_core::Module| -> Vec<f32> {
                    let runs = samples
                        .0
                        .iter()
                        .map(|sample| run(module, module.main, sample, Isa::detect(), 1));
                    runs.flat_map(|run| run[output].values::<f32>().unwrap().to_vec())
                        .collect()
                };
                let ratio = signal_to_noise(&all(&float), &all(&made.module));
                assert!(ratio > 30.0, "{target}, output {output}: {ratio:.1} dB\n{text}");
            }
        }
    }
}
