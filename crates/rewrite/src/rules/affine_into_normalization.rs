//! **Pattern**: the result of a layer normalization or RMS normalization is multiplied by a constant, or a constant is added
//! to the result of a layer normalization. A transpose may be in between.
//! **Why**: both normalization ops have a scale of their own, and layer normalization also has a bias. If the normalization
//! takes over the multiplication or addition, no separate layer remains that needs a rounding of its own.
//! **Preconditions**: only the multiplication or addition reads the result of the normalization. The constant is the same
//! for all rows that are normalized, and so are the existing scale and bias.
//! **Exactness**: exact in real numbers. Each parameter is computed in f64 and rounded to f32 once.

use crate::matching::{GraphNode, push};
use crate::miss::{Miss, NoMatch};
use crate::rounding::rounded;
use crate::rule::NodeRule;
use strait_core::shape::axis_of;
use strait_core::{NewNode, Op, Patch, ReasonCode, Source, Term, ValueId, refused};

/// The rule that folds a constant factor or summand into a layer normalization or an RMS normalization.
pub const RULE: NodeRule = NodeRule {
    name: "affine-into-normalization",
    anchors: || vec![Term::Mul, Term::Add],
    depth: || 3,
    is_fusion: false,
    look,
};

/// A normalization, and the transpose after it if there is one.
struct Normalization<'a> {
    node: GraphNode<'a>,
    moved: Option<GraphNode<'a>>,
    /// The extents of a row, which are those of the axes over which the op normalizes.
    row: Vec<u64>,
}

impl<'a> Normalization<'a> {
    /// The normalization that makes a value.
    fn of(site: &GraphNode<'a>, value: ValueId) -> Option<Normalization<'a>> {
        let moved = site.producer(value, Term::Transpose);
        let made = moved.as_ref().map_or(Some(value), |moved| moved.input(0))?;
        let node = site.maker(made)?;
        let axis = match &node.node.op {
            Op::LayerNormalization(op) => op.axis,
            Op::RmsNormalization(op) => op.axis,
            _ => return None,
        };
        let shape = &site.graph.value(node.input(0)?)?.ty.shape;
        let row = shape.get(axis_of(axis, shape.len())?..)?;
        Some(Normalization {
            node,
            moved,
            row: row.iter().map(|dim| dim.fixed()).collect::<Option<_>>()?,
        })
    }

    fn reads_alone(&self) -> bool {
        let results = [Some(&self.node), self.moved.as_ref()].into_iter().flatten();
        results
            .filter_map(GraphNode::output)
            .all(|value| self.node.used_once(value))
    }

    /// Returns the numbers that a constant has along one row, where a row has the axes over which the op normalizes.
    /// Returns `None` if the numbers differ from row to row. `rank` is the rank of the value with which the constant is
    /// combined. If `is_moved` is true, this value is the result of the transpose.
    fn along(&self, constant: ValueId, rank: usize, is_moved: bool) -> Option<Vec<f64>> {
        let (tensor, numbers) = self.node.exact(constant)?;
        let missing = rank.checked_sub(tensor.shape().len())?;
        let beside: Vec<u64> = std::iter::repeat_n(1, missing)
            .chain(tensor.shape().iter().copied())
            .collect();
        let strides: Vec<usize> = (0..rank)
            .map(|axis| beside[axis + 1..].iter().product::<u64>() as usize)
            .collect();
        // For each axis of the normalization, the axis of the constant.
        let permutation = self.moved.as_ref().filter(|_| is_moved).map(|moved| &moved.node.op);
        let axis_of = |axis: usize| match permutation {
            Some(Op::Transpose(transpose)) => transpose.permutation.iter().position(|&from| from as usize == axis),
            _ => Some(axis),
        };
        let axes: Vec<usize> = (0..rank).map(axis_of).collect::<Option<_>>()?;
        let (others, own) = axes.split_at_checked(rank.checked_sub(self.row.len())?)?;
        if others.iter().any(|&axis| beside[axis] != 1) {
            return None;
        }
        let mut positions = vec![0];
        for (&axis, &extent) in own.iter().zip(&self.row) {
            let step = if beside[axis] == 1 { 0 } else { strides[axis] };
            let along = positions
                .iter()
                .flat_map(|&at| (0..extent as usize).map(move |index| at + index * step));
            positions = along.collect();
        }
        positions.into_iter().map(|at| numbers.get(at).copied()).collect()
    }
}

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let found = site.both_orders().into_iter().find_map(|(x, constant)| {
        site.floats(constant)?;
        Some((Normalization::of(site, x).filter(|_| site.keeps_type(x))?, constant))
    });
    let is_product = site.node.op.term() == Term::Mul;
    let takes =
        |normalization: &Normalization<'_>| is_product || normalization.node.node.op.term() == Term::LayerNormalization;
    let (normalization, constant) = found.filter(|(found, _)| takes(found)).ok_or(NoMatch)?;
    let node = &normalization.node;
    let rank = site.graph.value(site.result()?).map_or(0, |y| y.ty.shape.len());
    let parameter = |index: usize| node.input(index).map(|value| normalization.along(value, rank, false));
    let own = (
        normalization.along(constant, rank, true),
        parameter(1).flatten(),
        parameter(2),
    );
    let (Some(numbers), Some(scale), None | Some(Some(_))) = own else {
        return Err(NoMatch);
    };
    let bias = parameter(2).flatten();
    if !normalization.reads_alone() {
        let text = "the normalization is used elsewhere too";
        return refused(ReasonCode::SeveralUses, text);
    }
    let mut patch = Patch::default();
    let with = |own: &[f64], map: fn(f64, f64) -> f64| -> Vec<f64> {
        own.iter()
            .zip(&numbers)
            .map(|(&own, &number)| map(own, number))
            .collect()
    };
    // A constant that does not change keeps its grid.
    let given = site.graph.value(constant).and_then(|value| value.quant.as_ref());
    let is_row = site.dims(constant).as_deref() == Some(&normalization.row[..]);
    let stays = normalization.moved.is_none() && (is_row || given.is_some());
    let old = |index: usize| node.input(index).map(Source::Old);
    let mut put = |name: &str, numbers: Vec<f64>| rounded(&mut patch, name, &normalization.row, numbers);
    let (scale, bias) = match (is_product, bias) {
        (true, None) if stays && scale.iter().all(|&scale| scale == 1.0) => (Some(Source::Old(constant)), None),
        (true, None) => (put("scale", with(&scale, |own, number| own * number))?, None),
        (true, Some(bias)) => (
            put("scale", with(&scale, |own, number| own * number))?,
            Some(put("bias", with(&bias, |own, number| own * number))?),
        ),
        (false, None) if stays => (old(1), Some(Some(Source::Old(constant)))),
        (false, None) => (old(1), Some(put("bias", numbers.clone())?)),
        (false, Some(bias)) => (old(1), Some(put("bias", with(&bias, |own, number| own + number))?)),
    };
    if scale.is_none() || bias == Some(None) {
        let text = "a scale or bias that comes out is not finite";
        return refused(ReasonCode::NotFinite, text);
    }
    let operands: Vec<Option<Source>> = [old(0), scale].into_iter().chain(bias).collect();
    let new = NewNode::new(node.node.op.clone(), &operands, &[site.id, node.id]);
    let result = push(&mut patch, new);
    if let Some(moved) = &normalization.moved {
        push(
            &mut patch,
            NewNode::new(moved.node.op.clone(), &[Some(result)], &[moved.id]),
        );
    }
    let mut patch = site.completed(patch)?;
    patch.remove.extend(normalization.moved.map(|moved| moved.id));
    patch.remove.push(node.id);
    Ok(patch)
}
