//! The chain of requantizations and clamps between the result of an op and a value.

use strait_core::{Channels, Def, Graph, Module, Node, NodeId, Op, TensorData, ValueId};
use strait_requantize::{IntType, Narrowing, OutsideDomain, Requantization, Rounding, Step, form};

/// Where a chain starts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Base<'a> {
    /// The result of a node, without the steps that are fused into it.
    Node(NodeId, &'a Node),
    /// An input of the graph, or a tensor.
    Value(ValueId),
}

/// The largest number of requantizations and clamps in a chain. A compiler makes only a few of them. A malicious file
/// could have thousands in a row, and the verifier would walk back through the whole row from each value in it.
const LONGEST: usize = 32;

/// The steps from a base to a value, in the order in which they are applied.
#[derive(Clone, Debug)]
pub(crate) struct Chain<'a> {
    pub(crate) base: Base<'a>,
    /// The value before the first step. `None` if the first step is fused into the base, because the graph then has no
    /// such value.
    pub(crate) start: Option<ValueId>,
    pub(crate) steps: Vec<Step>,
    /// How the steps find the channel of each element. This is an error if the steps do not all find it in the same
    /// way, or if there are too many steps.
    pub(crate) axis: Result<Option<Along<'a>>, String>,
}

/// How a requantization finds the channel of each element among its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Along<'a> {
    /// The channel is the index along an axis.
    Axis(usize),
    /// A constant selects the channel for each element.
    Picked(&'a TensorData),
}

impl Along<'_> {
    /// The axis of the channels. `None` if a constant selects them.
    pub(crate) fn axis(self) -> Option<usize> {
        match self {
            Along::Axis(axis) => Some(axis),
            Along::Picked(_) => None,
        }
    }
}

impl<'a> Chain<'a> {
    /// Walks backwards from a value through requantizations and clamps to the base of its chain.
    pub(crate) fn to(module: &'a Module, graph: &'a Graph, value: ValueId) -> Chain<'a> {
        let mut reversed = Vec::new();
        let mut axes = Vec::new();
        let mut at = value;
        let (base, start) = loop {
            let Some((id, node)) = graph.producer(at) else {
                break (Base::Value(at), Some(at));
            };
            if reversed.len() > LONGEST {
                break (Base::Node(id, node), None);
            }
            let rank = graph.value(at).map_or(0, |v| v.ty.shape.len());
            let along = || match node.channels(rank)? {
                Channels::Axis(axis) => Some(Along::Axis(axis)),
                Channels::Picked(picks) => module.constant(graph, picks).map(Along::Picked),
            };
            // Only the first result of a node can have fused steps or come from a requantization.
            let is_first = matches!(graph.value(at).map(|v| v.def), Some(Def::Node(_, 0)));
            if let Some(fused) = node.fused.as_deref().filter(|_| is_first) {
                reversed.push(Link::Step(Step {
                    form: fused.requant.clone(),
                    clamp: fused.clamp,
                }));
                axes.extend(fused.requant.channels().map(|_| along()));
            }
            let operand = node.inputs.first().copied().flatten();
            match (&node.op, operand) {
                (Op::Requantize(op), Some(operand)) => {
                    reversed.push(Link::Step(op.form.clone().into()));
                    axes.extend(op.form.channels().map(|_| along()));
                    at = operand;
                }
                (Op::Clamp(op), Some(operand)) => {
                    reversed.push(Link::Clamp([op.min, op.max]));
                    at = operand;
                }
                _ => break (Base::Node(id, node), node.fused.is_none().then_some(at)),
            }
        };
        let axis = match reversed.len() {
            ..=LONGEST => common(&axes),
            _ => Err(format!(
                "more than {LONGEST} requantizations and clamps follow one another"
            )),
        };
        Chain {
            base,
            start,
            steps: steps(reversed.into_iter().rev()),
            axis,
        }
    }
}

enum Link {
    Step(Step),
    Clamp([i32; 2]),
}

/// Joins requantizations and clamps to steps. A clamp belongs to the requantization before it. A clamp of accumulators
/// has no requantization before it, so it becomes the clamp of an identity requantization.
fn steps(links: impl Iterator<Item = Link>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for link in links {
        match (link, steps.last_mut()) {
            (Link::Step(step), _) => steps.push(step),
            (Link::Clamp([low, high]), Some(last)) => {
                // If two clamps follow each other, the second clamp is applied to both ends of the first clamp.
                let inner = last.clamp.unwrap_or([i32::MIN, i32::MAX]);
                last.clamp = Some(inner.map(|end| end.min(high).max(low)));
            }
            (Link::Clamp(ends), None) => steps.push(Step {
                form: identity(),
                clamp: Some(ends),
            }),
        }
    }
    steps
}

/// A step that only saturates to 32 bits. It changes no sum that fits into 32 bits.
fn identity() -> Requantization {
    Requantization::ArithFolded(form::ArithFolded {
        narrowing: Narrowing {
            shift: 0.into(),
            rounding: Rounding::Floor,
            out: IntType::I32,
        },
    })
}

fn common<'a>(axes: &[Option<Along<'a>>]) -> Result<Option<Along<'a>>, String> {
    match axes {
        [] => Ok(None),
        [Some(first), rest @ ..] if rest.iter().all(|axis| *axis == Some(*first)) => Ok(Some(*first)),
        _ => Err("its requantizations have parameters per channel of different axes".into()),
    }
}

/// Applies the steps to one element.
pub(crate) fn eval(steps: &[Step], channel: usize, value: i64) -> Result<i64, OutsideDomain> {
    steps
        .iter()
        .try_fold(value, |value, step| step.eval(channel, value).map(i64::from))
}

/// Applies the steps to the elements of a constant. The channels lie along `axis`.
pub(crate) fn eval_tensor(
    module: &Module,
    graph: &Graph,
    value: ValueId,
    steps: &[Step],
    axis: Option<usize>,
) -> Option<Result<Vec<i64>, OutsideDomain>> {
    let tensor = module.constant(graph, value)?;
    let values = tensor.to_i64().ok()?;
    let axis = axis.unwrap_or(0);
    let inner: u64 = tensor.shape().iter().skip(axis + 1).product();
    let extent = tensor.shape().get(axis).copied().unwrap_or(1);
    let channel = |index: usize| (index as u64 / inner.max(1) % extent.max(1)) as usize;
    let each = values.iter().enumerate();
    Some(each.map(|(index, &value)| eval(steps, channel(index), value)).collect())
}
