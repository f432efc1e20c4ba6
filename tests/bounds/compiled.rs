//! Tests the bounds for the head of a segmentation and pose network: boxes are concatenated, scaled by the stride of
//! their anchors, and concatenated with further outputs.

use super::Both;
use strait_core::text::parse;
use strait_core::text::random::SplitMix64;
use strait_execute::Tensor;
use strait_tests::integer::{InMemory, integer};

/// Corners, width and height of `anchors` boxes, their scale, and three more numbers for each.
fn head(anchors: usize) -> String {
    let scales: Vec<String> = (0..anchors)
        .map(|anchor| format!("{:?}", 1.0 + 7.0 * anchor as f32 / anchors as f32))
        .collect();
    format!(
        "strait 1 float graph @main(%corner: f32[1,2,{anchors}], %extent: f32[1,2,{anchors}], %more: f32[1,3,{anchors}]) {{
           %box: f32[1,4,{anchors}] = concat(%corner, %extent) {{axis=1}}
           %scaled: f32[1,4,{anchors}] = mul(%box, @scale) {{a_zero=0, b_zero=0}}
           %y: f32[1,7,{anchors}] = concat(%scaled, %more) {{axis=1}}
           return %y }}
           data @scale: f32[1,{anchors}] = inline [{}]",
        scales.join(",")
    )
}

fn sample(seed: u64, anchors: usize) -> Vec<Tensor> {
    let mut random = SplitMix64::new(seed);
    let mut real = |low: f32, high: f32| low + (random.next_u64() >> 40) as f32 / 16_777_216.0 * (high - low);
    [(2, 0.2, 8.5), (2, 0.2, 0.5), (3, -1.7, 1.6)]
        .map(|(rows, low, high)| {
            let reals: Vec<f32> = (0..rows * anchors).map(|_| real(low, high)).collect();
            Tensor::from_values(&[1, rows, anchors], &reals).unwrap()
        })
        .into()
}

#[test]
fn boxes_that_are_scaled_by_anchor_compile_on_bounds_of_their_own() {
    for anchors in [3, 4, 8, 21] {
        let float = parse(&head(anchors)).unwrap();
        let samples: Vec<Vec<Tensor>> = (0..8).map(|seed| sample(seed, anchors)).collect();
        for target in ["generic-int8", "sima", "ascend", "../configs/targets/acme-npu2.toml"] {
            let made = integer(&float, target, &InMemory(samples.clone()))
                .unwrap_or_else(|error| panic!("{target}, {anchors}: {error}"));
            for graph in [made.module.main, made.lowered] {
                let case = format!("{target}, {anchors}");
                let mut both = Both::new(&made.module, graph, &case);
                for inputs in &samples {
                    let far = |tensor: &Tensor| {
                        let reals = tensor.values::<f32>().unwrap().iter().map(|real| real * 1e6);
                        Tensor::from_values(tensor.shape(), &reals.collect::<Vec<f32>>()).unwrap()
                    };
                    both.run(inputs);
                    both.run(&inputs.iter().map(far).collect::<Vec<_>>());
                }
                both.compare();
            }
        }
    }
}
