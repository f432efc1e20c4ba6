//! Ops that find positions, take elements at positions, or go along an axis, with valid and invalid attributes.

use super::Choices;
use strait_core::Op;
use strait_core::op::{
    Activation, Activations, ArgReduce, Binary, BinaryFunction, Cell, Combination, Compare, Cumulative, Det, Dft,
    Direction, Expand, Extreme, GatherElements, GatherNd, NonMaxSuppression, NonZero, Range, Recurrent, Relation,
    RmsNormalization, RoiAlign, RoiMode, Running, Scatter, ScatterBy, Select, ShapeOf, TopK, Transform, Unique,
};

/// The names of the ops in this file.
#[rustfmt::skip] // a list
pub(super) const NAMES: &[&str] = &[
    "gather_elements", "gather_nd", "scatter", "arg_reduce", "cumulative", "top_k", "det", "dft", "roi_align",
    "recurrent", "expand", "select", "binary", "compare", "shape_of", "range", "non_zero", "unique", "non_max_suppression",
    "rms_normalization",
];

/// The op called `name`.
pub(super) fn op(name: &str, choices: &mut Choices<'_>) -> Op {
    let axis = choices.pick(&[0, -1, 1, 7, i64::MIN]);
    match name {
        "expand" => Expand {
            shape: (0..choices.below(4))
                .map(|_| choices.pick(&[0, 1, 2, 3, -1, i64::MAX]))
                .collect(),
        }
        .into(),
        "select" => Select {}.into(),
        "binary" => Binary {
            function: choices.pick(&BinaryFunction::ALL),
        }
        .into(),
        "compare" => Compare {
            relation: choices.pick(&Relation::ALL),
        }
        .into(),
        "rms_normalization" => RmsNormalization {
            axis,
            epsilon: choices.float(),
        }
        .into(),
        "gather_elements" => GatherElements { axis }.into(),
        "gather_nd" => GatherNd {
            batch: choices.pick(&[0, 1, u32::MAX]),
        }
        .into(),
        "scatter" => Scatter {
            by: choices.pick(&ScatterBy::ALL),
            axis,
            combine: choices.pick(&Combination::ALL),
        }
        .into(),
        "arg_reduce" => ArgReduce {
            extreme: choices.pick(&Extreme::ALL),
            axis,
            keep_dims: choices.flip(),
            last: choices.flip(),
        }
        .into(),
        "cumulative" => Cumulative {
            of: choices.pick(&Running::ALL),
            axis,
            exclusive: choices.flip(),
            reverse: choices.flip(),
        }
        .into(),
        "top_k" => TopK {
            k: choices.pick(&[1, 2, 0, -1, i64::MAX]),
            axis,
            largest: choices.flip(),
        }
        .into(),
        "shape_of" => ShapeOf {}.into(),
        "range" => Range {}.into(),
        "non_zero" => NonZero {}.into(),
        "unique" => Unique {
            axis,
            sorted: choices.flip(),
        }
        .into(),
        "non_max_suppression" => NonMaxSuppression {
            centers: choices.flip(),
        }
        .into(),
        "det" => Det {}.into(),
        "dft" => Dft {
            transform: choices.pick(&Transform::ALL),
            axis,
            length: choices.pick(&[1, 6, 0, u32::MAX]),
        }
        .into(),
        "roi_align" => RoiAlign {
            mode: choices.pick(&RoiMode::ALL),
            height: choices.pick(&[1, 0, u32::MAX]),
            width: 2,
            sampling: choices.pick(&[0, 2, u32::MAX]),
            scale: choices.pick(&[0.5, f32::INFINITY]),
            half_pixel: choices.flip(),
        }
        .into(),
        "recurrent" => {
            let count = choices.pick(&[1, 2, 3, 6]);
            Recurrent {
                cell: choices.pick(&Cell::ALL),
                direction: choices.pick(&Direction::ALL),
                activations: Activations((0..count).map(|_| choices.pick(&Activation::ALL)).collect()),
                alpha: vec![0.5; count],
                beta: vec![f32::INFINITY; count],
                clip: choices.pick(&[f32::INFINITY, 3.0, 0.0]),
                coupled: choices.flip(),
                cell_clip: choices.pick(&[f32::INFINITY, 3.0, 0.0]),
            }
            .into()
        }
        other => panic!("`{other}` is no op of these"),
    }
}
