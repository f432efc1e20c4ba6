//! Requirements of a recipe on a node, whatever the target: the lowering relies on them.

use super::super::reach::extent;
use strait_core::op::{Coordinate, IntegerResize, PadMode, Resize, ResizeMode};
use strait_core::{Dim, Elem, Graph, Module, Node, Op, Reason, ReasonCode, TensorType};
use strait_requantize::function::LayerNorm;
use strait_target::spec::Recipe;

fn require(holds: bool, code: ReasonCode, text: impl Into<String>) -> Result<(), Reason> {
    if holds { Ok(()) } else { Err(Reason::new(code, text)) }
}

/// Of a Gemm that the first axis of its weights are its outputs.
fn canonical(node: &Node) -> Result<(), Reason> {
    let canonical = !matches!(&node.op, Op::Gemm(gemm) if !gemm.is_canonical());
    require(
        canonical,
        ReasonCode::GemmForm,
        "it is not a·bᵀ + bias with a constant b",
    )
}

/// Extents of the axes from `axis` to the last, which are known.
fn row(x: &TensorType, axis: i64) -> Option<Vec<u64>> {
    let dims = x.dims()?;
    let axis = if axis < 0 { axis + dims.len() as i64 } else { axis };
    Some(dims.get(usize::try_from(axis).ok()?..)?.to_vec())
}

/// That an interpolation is between the extents alone, of axes for which sums have room.
fn resampled(resize: &Resize, [from, to]: [&[u64]; 2], bits: u8) -> Result<(), Reason> {
    require(
        !resize.antialias.0 && resize.coordinate != Coordinate::Crop,
        ReasonCode::ResizeMode,
        "it takes more elements than two along an axis, or a part of its operand",
    )?;
    let exact = resize.scales.iter().zip(from.iter().zip(to));
    let exact = exact
        .into_iter()
        .all(|(&scale, (&from, &to))| f64::from(scale) * from as f64 == to as f64);
    require(
        exact,
        ReasonCode::ResizeMode,
        "its scales are not the quotients of its extents, by which codes are interpolated",
    )?;
    let resized = from.iter().zip(to).filter(|(from, to)| from != to).count();
    require(
        IntegerResize::takes(resized, bits) && !from.contains(&0),
        ReasonCode::ResizeMode,
        format!("{resized} axes with {bits} fraction bits leave no room for codes in 64 bits"),
    )
}

/// Checks that `recipe` can lower `node`.
pub(super) fn check(module: &Module, graph: &Graph, node: &Node, recipe: Recipe) -> Result<(), Reason> {
    let value = |index: usize| node.inputs.get(index).copied().flatten().and_then(|v| graph.value(v));
    let constant = |index: usize| {
        node.inputs
            .get(index)
            .copied()
            .flatten()
            .is_none_or(|v| module.constant(graph, v).is_some())
    };
    let float = |elem| {
        require(
            elem == Some(Elem::F32),
            ReasonCode::NotFloat,
            "it computes on other types than f32",
        )
    };
    let mut ends = node
        .inputs
        .iter()
        .flatten()
        .chain(&node.outputs)
        .filter_map(|&v| graph.value(v));
    require(
        !ends.any(|value| value.ty.shape.contains(&Dim::Fixed(0))),
        ReasonCode::NoElements,
        "an operand or a result of it has no elements",
    )?;
    // A condition in front of what it chooses between is no number.
    let first = usize::from(matches!(node.op, Op::Select(_)));
    float(value(first).map(|v| v.ty.elem))?;
    if recipe != Recipe::Compare {
        float(node.outputs.first().and_then(|&y| graph.value(y)).map(|y| y.ty.elem))?;
    }
    match recipe {
        Recipe::MultiplyAccumulate { .. } => {
            require(
                constant(1),
                ReasonCode::WeightNotConstant,
                "its weights are not constants",
            )?;
            require(constant(2), ReasonCode::BiasNotConstant, "its bias is not a constant")?;
            canonical(node)?;
            if let Op::Gemm(_) = &node.op {
                let outputs = value(1).and_then(|w| w.ty.dims()).map(|d| d[0]);
                let bias = value(2).map(|b| b.ty.dims());
                let fits = bias.is_none_or(|b| b.as_deref().is_some_and(|d| Some(d) == outputs.as_slice().into()));
                require(fits, ReasonCode::BiasShape, "its bias is not one number per output")?;
            }
            Ok(())
        }
        Recipe::DequantizeWeights => {
            require(
                node.inputs.get(1).copied().flatten().is_some() && constant(1),
                ReasonCode::WeightNotConstant,
                "its weights are not constants",
            )?;
            canonical(node)
        }
        Recipe::AveragePoolDivide | Recipe::AveragePoolRequantize | Recipe::AveragePoolReciprocal { .. } => {
            match &node.op {
                Op::AveragePool(pool) if recipe == Recipe::AveragePoolDivide => require(
                    !(pool.ceil && pool.count_include_pad),
                    ReasonCode::PoolCount,
                    "windows at the border count fewer elements",
                ),
                Op::AveragePool(pool) => {
                    let result = node.outputs.first().and_then(|&y| graph.value(y));
                    let dims = [value(0), result].map(|v| v.and_then(|v| v.ty.dims()).unwrap_or_default());
                    let [extents, positions] = dims.each_ref().map(|dims| dims.get(2..).unwrap_or_default());
                    pool.divisors(extents, positions).map(drop)
                }
                Op::Reduce(reduce) => {
                    let rank = value(0).map_or(0, |x| x.ty.shape.len());
                    let spatial = reduce.reduced(rank)?.iter().copied().eq(2..rank);
                    require(
                        recipe != Recipe::AveragePoolDivide || spatial,
                        ReasonCode::MeanAxes,
                        "only a mean over all spatial axes can be divided",
                    )
                }
                _ => Ok(()),
            }
        }
        Recipe::PassThrough { fraction } => match &node.op {
            Op::Resize(resize) if resize.mode == ResizeMode::Linear => {
                require(
                    fraction.is_some(),
                    ReasonCode::ResizeMode,
                    "interpolation makes new numbers",
                )?;
                let result = node.outputs.first().and_then(|&y| graph.value(y));
                let dims = [value(0), result].map(|v| v.and_then(|v| v.ty.dims()).unwrap_or_default());
                resampled(
                    resize,
                    [&dims[0], &dims[1]],
                    fraction.map_or(0, |fraction| fraction.bits),
                )
            }
            Op::Resize(resize) => require(
                resize.moves(),
                ReasonCode::ResizeMode,
                "cubic convolution, and what lies beside a region, make new numbers",
            ),
            Op::Pad(pad) => require(
                pad.mode != PadMode::Constant || !pad.value.is_nan(),
                ReasonCode::PadValue,
                "its padding is NaN",
            ),
            _ => Ok(()),
        },
        Recipe::Softmax { definition } => {
            let most = definition.softmax().map_or(0, |facts| facts.longest_row);
            let extent = match &node.op {
                Op::Softmax(softmax) => value(0).and_then(|x| extent(&x.ty, softmax.axis)),
                _ => None,
            };
            require(
                extent.is_some_and(|extent| (1..=most as u64).contains(&extent)),
                ReasonCode::SoftmaxDomain,
                format!("{definition} takes rows of 1 to {most} codes"),
            )
        }
        Recipe::LayerNormalization { definition } => {
            require(
                constant(1),
                ReasonCode::WeightNotConstant,
                "its scale is not a constant",
            )?;
            require(constant(2), ReasonCode::BiasNotConstant, "its bias is not a constant")?;
            let row = match &node.op {
                Op::LayerNormalization(norm) => value(0).and_then(|x| row(&x.ty, norm.axis)),
                Op::RmsNormalization(norm) => value(0).and_then(|x| row(&x.ty, norm.axis)),
                _ => None,
            };
            let (row, most) = (row.unwrap_or_default(), LayerNorm::LONGEST_ROW as u64);
            let length = row.iter().try_fold(1u64, |length, &extent| length.checked_mul(extent));
            require(
                !row.is_empty() && length.is_some_and(|length| (1..=most).contains(&length)),
                ReasonCode::LayerNormalizationDomain,
                format!("{definition} takes rows of 1 to {most} codes"),
            )?;
            // Repeated along the row, and not from row to row.
            let fits = |index| {
                value(index).is_none_or(|v| {
                    let dims = v.ty.dims().unwrap_or_default();
                    let mut extents = row.iter().rev();
                    v.ty.dims().is_some()
                        && dims
                            .iter()
                            .rev()
                            .all(|&extent| extents.next().map_or(extent == 1, |&of| extent == of || extent == 1))
                })
            };
            require(
                fits(1) && fits(2),
                ReasonCode::LayerNormalizationShape,
                "its scale or its bias is another one for each row",
            )
        }
        Recipe::MatmulAccumulate
        | Recipe::AddLeftShift { .. }
        | Recipe::AddCommonGrid { .. }
        | Recipe::AddCoarserGrid
        | Recipe::AddShifted
        | Recipe::Multiply
        | Recipe::MaxPool
        | Recipe::Lookup { .. }
        | Recipe::Clamp
        | Recipe::Compare => Ok(()),
    }
}
