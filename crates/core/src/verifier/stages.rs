//! Invariants 8 to 15: what must be true in each stage.

use super::findings::{Findings, Verified, View, ensure};
use crate::elem::Elem;
use crate::graph::{Def, Node, Placement, Value};
use crate::ids::NodeId;
use crate::kind::Kind;
use crate::op::Op;
use crate::quant::Port;
use crate::stage::Stage;
use strait_requantize::Per;

pub(super) fn verify<'m>(view: View<'m>, findings: &mut Findings<'m>) {
    let stage = view.graph.stage();
    for (id, node) in view.graph.nodes() {
        let foreign = matches!(node.op, Op::Foreign(_));
        let own = ensure(!foreign || stage == Stage::Export, 8, || {
            format!("{} stands in the {stage} stage", view.place(node))
        });
        findings.of_node(view, id, own);
        let found = match stage {
            Stage::Float => not_requantized(view, node),
            Stage::Annotated => not_requantized(view, node).and_then(|()| annotated(view, id, node)),
            Stage::Integer => integer(view, node),
            Stage::Export => Ok(()),
        };
        findings.of_node(view, id, found);
    }
    if stage == Stage::Integer {
        for &id in view.graph.outputs() {
            // The host computes real numbers, so it neither reads nor writes codes.
            let host = view
                .graph
                .producer(id)
                .is_some_and(|(_, n)| n.place != Placement::Accelerator);
            let codes = |value: &&Value| value.ty.elem.int_type().is_some() && !host;
            if let Some(value) = view.graph.value(id).filter(codes) {
                findings.take(has_grid(view, value, "leaves the graph"));
            }
        }
    }
}

fn not_requantized(view: View<'_>, node: &Node) -> Verified {
    let early = node.op.term().is_lowered();
    ensure(!early && node.fused.is_none(), 9, || {
        format!("{} requantizes in the {} stage", view.place(node), view.graph.stage())
    })
}

/// True if the node is an `add` that is computed inside the accumulator of a convolution or Gemm, and its operand at
/// `index` is this accumulator.
fn adds_to(view: View<'_>, node: &Node, index: usize) -> bool {
    let value = node.inputs.get(index).copied().flatten();
    let value = value.filter(|&value| matches!(node.op, Op::Add(_)) && view.graph.only_use(value).is_some());
    let product = value.and_then(|value| view.graph.producer(value));
    product.is_some_and(|(id, product)| {
        let scheme = view.graph.quant.scheme_of(id, Port::Result(0));
        matches!(product.op, Op::Conv(_) | Op::Gemm(_)) && scheme.is_some_and(|scheme| scheme.is_of_sums())
    })
}

fn annotated(view: View<'_>, id: NodeId, node: &Node) -> Verified {
    if node.place != Placement::Accelerator || computes_on_reals(view, id, node) {
        return Ok(());
    }
    for index in 0..node.inputs.len() {
        let float = view.operand(node, index).is_some_and(|v| v.ty.elem.is_float());
        let has_config = view.graph.quant.id(id, Port::Operand(index)).is_some() || adds_to(view, node, index);
        view.ensure(node, !float || has_config, 10, || {
            format!("operand {index} has no quantization config")
        })?;
    }
    Ok(())
}

/// True for a weight-only convolution, Gemm or Gather. Such a node computes on real numbers. Only its weights have a
/// config; they are constant codes that are dequantized first.
fn computes_on_reals(view: View<'_>, id: NodeId, node: &Node) -> bool {
    let operands = (0..node.inputs.len()).map(Port::Operand);
    let mut ports = operands.chain((0..node.outputs.len()).map(Port::Result));
    let weights = node.op.weights_operand();
    let constant = view
        .operand(node, weights)
        .is_some_and(|weights| matches!(weights.def, Def::Data(_)));
    let alone = ports.all(|port| (port == Port::Operand(weights)) == view.graph.quant.id(id, port).is_some());
    has_weights(node) && constant && alone
}

fn has_weights(node: &Node) -> bool {
    matches!(node.op, Op::Conv(_) | Op::Gemm(_) | Op::Gather(_))
}

/// True for a convolution, Gemm or Gather of real numbers whose weights are dequantized from constant codes.
fn has_dequantized_weights(view: View<'_>, node: &Node) -> bool {
    let weights = node.inputs.get(node.op.weights_operand()).copied().flatten();
    let made = weights.and_then(|weights| view.graph.producer(weights));
    let codes = made.and_then(|(_, made)| Some((made, view.operand(made, 0)?)));
    has_weights(node)
        && codes.is_some_and(|(made, codes)| matches!((&made.op, codes.def), (Op::Dequantize(_), Def::Data(_))))
}

fn has_grid(view: View<'_>, value: &Value, how: &str) -> Verified {
    ensure(value.quant.is_some(), 13, || {
        format!("{} {how}, but has no grid", view.value(value))
    })
}

fn integer(view: View<'_>, node: &Node) -> Verified {
    let boundary = match node.op {
        Op::Quantize(_) => view.results(node).next().map(|v| (v, "is quantized")),
        Op::Dequantize(_) => view.operand(node, 0).map(|v| (v, "is dequantized")),
        _ => None,
    };
    if let Some((value, how)) = boundary {
        return has_grid(view, value, how);
    }
    let mut touched = view.operands(node).chain(view.results(node));
    let on_reals = match node.place {
        Placement::Host(_) => Some((12, "runs on the host")),
        Placement::Accelerator => has_dequantized_weights(view, node).then_some((11, "computes on real numbers")),
    };
    if let Some((invariant, how)) = on_reals {
        let codes = touched.find(|v| v.quant.is_some() && !v.ty.elem.is_float());
        return ensure(codes.is_none(), invariant, || {
            let name = codes.map(|v| view.value(v)).unwrap_or_default();
            format!("{} {how}, but touches the codes of {name}", view.place(node))
        });
    }
    // Calls are not checked here, because the nodes of the called graph are checked in that graph.
    let float = touched.find(|v| v.ty.elem.is_float() && !matches!(node.op, Op::Call(_)));
    ensure(float.is_none(), 11, || {
        let name = float.map(|v| view.value(v)).unwrap_or_default();
        format!("{} runs on the accelerator, but {name} is float", view.place(node))
    })?;
    let codes = view.operands(node).any(Value::is_quantized);
    let makes_numbers = codes && !matches!(node.op.term().kind(), Kind::Converts | Kind::Elsewhere);
    for value in view.results(node).filter(|v| makes_numbers && v.ty.elem == Elem::I64) {
        has_grid(view, value, "is an accumulator of i64")?;
    }
    ensure(!(codes && node.op.term().is_real_function()), 14, || {
        let place = view.place(node);
        format!("{place} is a function of real numbers, but its operands are codes")
    })?;
    padding(view, node)?;
    weight_zeros(view, node)
}

fn weight_zeros(view: View<'_>, node: &Node) -> Verified {
    let Some(told) = node.op.weight_zero() else {
        return Ok(());
    };
    let grid = view.operand(node, 1).and_then(|weight| weight.quant.as_deref());
    let Some(real) = grid.map(|grid| &grid.zero_point) else {
        return Ok(());
    };
    let same = match (&told.0, real) {
        (Per::Tensor(told), real) => real.all(|zero| zero == told),
        (told, Per::Tensor(real)) => told.all(|zero| zero == real),
        (told, real) => told == real,
    };
    view.ensure(node, same, 15, || {
        "`weight_zero` has other zero points than the grid of its weight".into()
    })
}

fn padding(view: View<'_>, node: &Node) -> Verified {
    for zero in node.op.zeros().into_iter().filter(|zero| zero.pads) {
        let value = zero.code;
        let real = view
            .operand(node, zero.operand)
            .filter(|v| !matches!(v.ty.elem, Elem::I32 | Elem::I64))
            .and_then(|v| v.quant.as_ref()?.as_tensor());
        if let Some((_, real)) = real.filter(|&(_, real)| real != value) {
            view.ensure(node, false, 15, || {
                format!("padding reads as {value}, but real zero is {real}")
            })?;
        }
    }
    Ok(())
}
