//! What a recipe requires of a node on any target. Lowering relies on these requirements.

use crate::annotate::analyses::extent;
use strait_core::op::{Coordinate, IntegerResize, PadMode, Resize, ResizeMode};
use strait_core::shape::axis_of;
use strait_core::{Dim, Elem, Graph, Module, Node, Op, Reason, ReasonCode, TensorType, refused};
use strait_requantize::function::LayerNorm;
use strait_target::spec::Recipe;

fn require(holds: bool, code: ReasonCode, text: impl Into<String>) -> Result<(), Reason> {
    if holds { Ok(()) } else { refused(code, text) }
}

/// Requires that the first axis of a Gemm's weights lists the outputs.
fn canonical(node: &Node) -> Result<(), Reason> {
    let canonical = !matches!(&node.op, Op::Gemm(gemm) if !gemm.is_canonical());
    let text = "it is not a·bᵀ + bias with a constant b";
    require(canonical, ReasonCode::GemmForm, text)
}

/// Requires that a Gather takes whole rows of a matrix, as an embedding does.
fn rows_of_matrix(site: &NodeToPlace<'_>) -> Result<(), Reason> {
    let Op::Gather(gather) = &site.node.op else {
        return Ok(());
    };
    let is_matrix = site.operand(0).is_some_and(|table| table.shape.len() == 2);
    require(
        is_matrix && matches!(gather.axis, 0 | -2),
        ReasonCode::Gather,
        "its table is not a matrix from which it takes rows",
    )
}

/// The extents of the axes from `axis` to the last one, if all are known.
fn row(x: &TensorType, axis: i64) -> Option<Vec<u64>> {
    let dims = x.dims()?;
    Some(dims.get(axis_of(axis, dims.len())?..)?.to_vec())
}

/// Checks that a resize can interpolate between codes. `from` and `to` are the extents of operand and result, and the
/// weights of the interpolation have `bits` fraction bits along each axis. The resize must not use antialiasing or a
/// region of the operand. If it has scales, they must be the exact quotients of the extents. The sums of the
/// interpolation must fit into 64 bits.
fn resampled(resize: &Resize, [from, to]: [&[u64]; 2], bits: u8) -> Result<(), Reason> {
    require(
        !resize.antialias && resize.coordinate != Coordinate::Crop,
        ReasonCode::ResizeMode,
        "it takes more elements than two along an axis, or a part of its operand",
    )?;
    let exact = resize.scales.iter().zip(from.iter().zip(to));
    let exact = exact
        .into_iter()
        .all(|(&scale, (&from, &to))| f64::from(scale) * from as f64 == to as f64);
    let text = "its scales are not the quotients of its extents, by which codes are interpolated";
    require(exact, ReasonCode::ResizeMode, text)?;
    let resized = from.iter().zip(to).filter(|(from, to)| from != to).count();
    require(
        IntegerResize::takes(resized, bits) && !from.contains(&0),
        ReasonCode::ResizeMode,
        format!("{resized} axes with {bits} fraction bits leave no room for codes in 64 bits"),
    )
}

/// Checks that `recipe` can lower `node`.
pub(crate) fn check(module: &Module, graph: &Graph, node: &Node, recipe: Recipe) -> Result<(), Reason> {
    let site = NodeToPlace { module, graph, node };
    let mut ends = (node.inputs.iter().flatten().chain(&node.outputs)).filter_map(|&v| graph.value(v));
    require(
        !ends.any(|value| value.ty.shape.contains(&Dim::Fixed(0))),
        ReasonCode::NoElements,
        "an operand or a result of it has no elements",
    )?;
    // The first operand has to be a float. The exception is a `select`: its first operand is a boolean condition, so
    // the second operand has to be a float.
    float(site.operand(usize::from(matches!(node.op, Op::Select(_)))))?;
    if recipe != Recipe::Compare {
        float(site.result())?;
    }
    match recipe {
        Recipe::MultiplyAccumulate { .. } => site.product(),
        Recipe::DequantizeWeights => {
            let weights = node.op.weights_operand();
            require(
                site.operand(weights).is_some() && site.is_constant(weights),
                ReasonCode::WeightNotConstant,
                "its weights are not constants",
            )?;
            rows_of_matrix(&site)?;
            canonical(node)
        }
        Recipe::AveragePoolDivide | Recipe::AveragePoolRequantize | Recipe::AveragePoolReciprocal(_) => {
            site.mean(recipe == Recipe::AveragePoolDivide)
        }
        Recipe::PassThrough { fraction } => site.moves(fraction.map(|fraction| fraction.bits)),
        Recipe::Softmax { definition } => {
            let most = definition.softmax().map_or(0, |facts| facts.longest_row);
            let extent = match &node.op {
                Op::Softmax(softmax) => site.operand(0).and_then(|x| extent(x, softmax.axis)),
                _ => None,
            };
            require(
                extent.is_some_and(|extent| (1..=most as u64).contains(&extent)),
                ReasonCode::SoftmaxDomain,
                format!("{definition} takes rows of 1 to {most} codes"),
            )
        }
        Recipe::LayerNormalization { definition } => site.layer_normalization(&definition),
        Recipe::MatmulAccumulate
        | Recipe::AddLeftShift { .. }
        | Recipe::AddCommonGrid { .. }
        | Recipe::AddCoarserGrid
        | Recipe::AddShifted
        | Recipe::AddScaled
        | Recipe::Multiply
        | Recipe::MaxPool { .. }
        | Recipe::Lookup { .. }
        | Recipe::Clamp
        | Recipe::Compare
        | Recipe::Requantize { .. } => Ok(()),
    }
}

fn float(value: Option<&TensorType>) -> Result<(), Reason> {
    require(
        value.is_some_and(|ty| ty.elem == Elem::F32),
        ReasonCode::NotFloat,
        "it computes on other types than f32",
    )
}

/// A node, and the graph that it is in.
struct NodeToPlace<'a> {
    module: &'a Module,
    graph: &'a Graph,
    node: &'a Node,
}

impl<'a> NodeToPlace<'a> {
    fn operand(&self, index: usize) -> Option<&'a TensorType> {
        let value = self.node.input(index)?;
        Some(&self.graph.value(value)?.ty)
    }

    fn result(&self) -> Option<&'a TensorType> {
        Some(&self.graph.value(*self.node.outputs.first()?)?.ty)
    }

    /// The extents of the first operand and of the first result. Empty if they are not known.
    fn extents(&self) -> [Vec<u64>; 2] {
        [self.operand(0), self.result()].map(|ty| ty.and_then(TensorType::dims).unwrap_or_default().to_vec())
    }

    /// True if an operand is a constant or is absent.
    fn is_constant(&self, index: usize) -> bool {
        let operand = self.node.input(index);
        operand.is_none_or(|v| self.module.constant(self.graph, v).is_some())
    }

    fn product(&self) -> Result<(), Reason> {
        let weights = "its weights are not constants";
        require(self.is_constant(1), ReasonCode::WeightNotConstant, weights)?;
        let bias = "its bias is not a constant";
        require(self.is_constant(2), ReasonCode::BiasNotConstant, bias)?;
        canonical(self.node)?;
        let Op::Gemm(_) = &self.node.op else { return Ok(()) };
        let outputs = self.operand(1).and_then(TensorType::dims).map(|d| d[0]);
        let bias = self.operand(2).map(TensorType::dims);
        let fits = bias.is_none_or(|b| b.as_deref().is_some_and(|d| Some(d) == outputs.as_slice().into()));
        require(fits, ReasonCode::BiasShape, "its bias is not one number per output")
    }

    /// Requires that the node is a mean over windows or over axes. If `divides` is true, every element of the result
    /// must be divided by the same number.
    fn mean(&self, divides: bool) -> Result<(), Reason> {
        match &self.node.op {
            Op::AveragePool(pool) if divides => require(
                !(pool.ceil && pool.count_include_pad),
                ReasonCode::PoolCount,
                "windows at the border count fewer elements",
            ),
            Op::AveragePool(pool) => {
                let dims = self.extents();
                let [extents, positions] = dims.each_ref().map(|dims| dims.get(2..).unwrap_or_default());
                pool.divisors(extents, positions).map(drop)
            }
            Op::Reduce(reduce) => {
                let rank = self.operand(0).map_or(0, |x| x.shape.len());
                let spatial = reduce.reduced(rank)?.iter().copied().eq(2..rank);
                let text = "only a mean over all spatial axes can be divided";
                require(!divides || spatial, ReasonCode::MeanAxes, text)
            }
            _ => Ok(()),
        }
    }

    /// Requires that the node only moves codes. If `bits` is given, the node may also interpolate between codes with
    /// this many fraction bits.
    fn moves(&self, bits: Option<u8>) -> Result<(), Reason> {
        match &self.node.op {
            Op::Resize(resize) if resize.mode == ResizeMode::Linear => {
                let numbers = "interpolation makes new numbers";
                require(bits.is_some(), ReasonCode::ResizeMode, numbers)?;
                let [from, to] = self.extents();
                resampled(resize, [&from, &to], bits.unwrap_or(0))
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
        }
    }

    fn layer_normalization(&self, definition: &impl std::fmt::Display) -> Result<(), Reason> {
        let scale = "its scale is not a constant";
        require(self.is_constant(1), ReasonCode::WeightNotConstant, scale)?;
        let bias = "its bias is not a constant";
        require(self.is_constant(2), ReasonCode::BiasNotConstant, bias)?;
        let axis = match &self.node.op {
            Op::LayerNormalization(norm) => Some(norm.axis),
            Op::RmsNormalization(norm) => Some(norm.axis),
            _ => None,
        };
        let row = axis.and_then(|axis| row(self.operand(0)?, axis)).unwrap_or_default();
        let most = LayerNorm::LONGEST_ROW as u64;
        let length = row.iter().try_fold(1u64, |length, &extent| length.checked_mul(extent));
        require(
            !row.is_empty() && length.is_some_and(|length| (1..=most).contains(&length)),
            ReasonCode::LayerNormalizationDomain,
            format!("{definition} takes rows of 1 to {most} codes"),
        )?;
        // True if a constant has the same elements for all rows. The constant may also repeat within a row.
        let fits = |ty: &TensorType| {
            let mut extents = row.iter().rev();
            ty.dims().is_some_and(|dims| {
                let mut dims = dims.iter().rev();
                dims.all(|&extent| extents.next().map_or(extent == 1, |&of| extent == of || extent == 1))
            })
        };
        require(
            [1, 2].into_iter().all(|index| self.operand(index).is_none_or(fits)),
            ReasonCode::LayerNormalizationShape,
            "its scale or its bias is another one for each row",
        )
    }
}
