//! The limits of a row against a node: attributes, and quantities derived from them.

use strait_core::op::Reduce;
use strait_core::{Attribute, Graph, Module, Node, Op, Reason};
use strait_target::spec::OpRow;
use strait_target::spec::{Limit, LimitValue};

/// Whether every limit of `row` holds for `node`.
pub(super) fn check(module: &Module, graph: &Graph, node: &Node, row: &OpRow) -> Result<(), Reason> {
    for (quantity, limit) in &row.limit {
        let facts = Facts { module, graph, node };
        for found in facts.values(quantity) {
            if !holds(limit, &found) {
                return Err(Reason::new(
                    "limit",
                    format!("{quantity} is {}, and the target has {}", text(&found), allowed(limit)),
                ));
            }
        }
    }
    Ok(())
}

fn holds(limit: &Limit, found: &LimitValue) -> bool {
    let in_range = match *found {
        LimitValue::Number(n) => limit.min.is_none_or(|min| n >= min) && limit.max.is_none_or(|max| n <= max),
        _ => true,
    };
    in_range
        && limit
            .one_of
            .as_ref()
            .is_none_or(|all| all.iter().any(|v| same(v, found)))
}

/// A flag in the table stands for the numbers 0 and 1 of an attribute.
fn same(a: &LimitValue, b: &LimitValue) -> bool {
    let number = |v: &LimitValue| match v {
        LimitValue::Flag(flag) => Some(i64::from(*flag)),
        LimitValue::Number(n) => Some(*n),
        LimitValue::Word(_) => None,
    };
    a == b || (number(a).is_some() && number(a) == number(b))
}

fn text(value: &LimitValue) -> String {
    match value {
        LimitValue::Flag(flag) => flag.to_string(),
        LimitValue::Number(n) => n.to_string(),
        LimitValue::Word(word) => word.clone(),
    }
}

fn allowed(limit: &Limit) -> String {
    match (limit.min, limit.max, &limit.one_of) {
        (_, _, Some(all)) => all.iter().map(text).collect::<Vec<_>>().join(", "),
        (Some(min), Some(max), _) => format!("{min} to {max}"),
        (Some(min), None, _) => format!("{min} and more"),
        (None, Some(max), _) => format!("{max} and less"),
        _ => "none".into(),
    }
}

struct Facts<'a> {
    module: &'a Module,
    graph: &'a Graph,
    node: &'a Node,
}

impl Facts<'_> {
    fn dims(&self, operand: usize) -> Vec<i64> {
        let value = self
            .node
            .inputs
            .get(operand)
            .copied()
            .flatten()
            .and_then(|v| self.graph.value(v));
        let dims = value.and_then(|v| v.ty.dims()).unwrap_or_default();
        dims.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect()
    }

    fn is_constant(&self, operand: usize) -> Option<bool> {
        let value = self.node.inputs[operand]?;
        Some(self.module.constant(self.graph, value).is_some())
    }

    /// Every value of a quantity; the check of the table knows which there are.
    fn values(&self, quantity: &str) -> Vec<LimitValue> {
        let numbers = |values: Vec<i64>| values.into_iter().map(LimitValue::Number).collect();
        let x = self.dims(0);
        match quantity {
            "rank" => numbers(vec![x.len() as i64]),
            "batch" => numbers(x.first().copied().into_iter().collect()),
            "channels" => numbers(x.get(1).copied().into_iter().collect()),
            "elements" => {
                let y = self.node.outputs.first().and_then(|&y| self.graph.value(y));
                let count = y.and_then(|y| strait_core::shape::element_count(&y.ty.shape));
                numbers(count.map(|n| n as i64).into_iter().collect())
            }
            "kernel" => numbers(self.kernel()),
            "window" => numbers(vec![self.kernel().iter().product()]),
            "k" => numbers(vec![self.sum_length()]),
            "grouping" => vec![LimitValue::Word(self.grouping().into())],
            "broadcast" => vec![LimitValue::Word(self.broadcast().into())],
            "constant_operands" => self.positions(true),
            "variable_operands" => self.positions(false),
            "axis" => numbers(self.axes().iter().map(|&a| a as i64).collect()),
            "axis_from_end" => numbers(self.axes().iter().map(|&a| a as i64 - x.len() as i64).collect()),
            attribute => self.attribute(attribute),
        }
    }

    fn positions(&self, constant: bool) -> Vec<LimitValue> {
        let positions = (0..self.node.inputs.len()).filter(|&i| self.is_constant(i) == Some(constant));
        positions.map(|i| LimitValue::Number(i as i64)).collect()
    }

    fn attribute(&self, wanted: &str) -> Vec<LimitValue> {
        let mut found = Vec::new();
        self.node.op.attributes(&mut |key, value| {
            if key == wanted {
                match value {
                    Attribute::Int(n) => found.push(LimitValue::Number(n)),
                    Attribute::Ints(all) => found.extend(all.into_iter().map(LimitValue::Number)),
                    Attribute::Text(word) => found.push(LimitValue::Word(word)),
                    _ => {}
                }
            }
        });
        found
    }

    fn kernel(&self) -> Vec<i64> {
        let sizes = |size: &[u32]| size.iter().map(|&s| i64::from(s)).collect();
        match &self.node.op {
            Op::Conv(_) => self.dims(1).into_iter().skip(2).collect(),
            Op::MaxPool(pool) => sizes(&pool.size),
            Op::AveragePool(pool) => sizes(&pool.size),
            Op::GlobalAveragePool(_) => self.dims(0).into_iter().skip(2).collect(),
            _ => Vec::new(),
        }
    }

    fn sum_length(&self) -> i64 {
        match &self.node.op {
            Op::Conv(_) => self.dims(1).iter().skip(1).product(),
            Op::Gemm(_) | Op::MatMul(_) => self.dims(0).last().copied().unwrap_or(1),
            Op::Reduce(reduce) => reduced(reduce, &self.dims(0)),
            _ => self.kernel().iter().product(),
        }
    }

    fn grouping(&self) -> &'static str {
        match &self.node.op {
            Op::Conv(conv) if conv.groups > 1 => {
                let weight: Vec<u64> = self.dims(1).iter().map(|&d| d.unsigned_abs()).collect();
                if conv.is_depthwise(&weight) {
                    "depthwise"
                } else {
                    "grouped"
                }
            }
            _ => "none",
        }
    }

    fn broadcast(&self) -> &'static str {
        let (a, b) = (self.dims(0), self.dims(1));
        let elements = |d: &[i64]| d.iter().product::<i64>();
        let (large, small) = if elements(&a) >= elements(&b) {
            (&a, &b)
        } else {
            (&b, &a)
        };
        if a == b {
            return "none";
        }
        if elements(small) == 1 {
            return "scalar";
        }
        let offset = large.len().saturating_sub(small.len());
        let channel = small
            .iter()
            .enumerate()
            .all(|(i, &d)| d == 1 || i + offset == 1 && Some(&d) == large.get(1));
        if channel { "channel" } else { "general" }
    }

    fn axes(&self) -> Vec<usize> {
        let rank = self.dims(0).len();
        let one = |axis: i64| {
            let normal = if axis < 0 { axis + rank as i64 } else { axis };
            vec![normal.unsigned_abs() as usize]
        };
        match &self.node.op {
            Op::Softmax(op) => one(op.axis),
            Op::Concat(op) => one(op.axis),
            Op::Split(op) => one(op.axis),
            Op::Gather(op) => one(op.axis),
            Op::Reduce(op) => op.reduced(rank).map(|a| a.to_vec()).unwrap_or_default(),
            Op::LayerNormalization(op) => (one(op.axis)[0]..rank).collect(),
            Op::Transpose(op) => (op.permutation.iter().enumerate())
                .filter(|&(i, &p)| i != p as usize)
                .map(|(i, _)| i)
                .collect(),
            Op::Slice(op) => op.axes.iter().flat_map(|&a| one(a)).collect(),
            Op::Pad(op) => (0..rank)
                .filter(|&a| op.amounts[a] != 0 || op.amounts[a + rank] != 0)
                .collect(),
            _ => Vec::new(),
        }
    }
}

fn reduced(reduce: &Reduce, dims: &[i64]) -> i64 {
    reduce
        .reduced(dims.len())
        .map_or(1, |axes| axes.iter().map(|&a| dims[a]).product())
}
