//! **Pattern**: a gemm or matmul with 8-bit operands, if all readers of its result quantize it to 16 bits.
//! **Why**: ONNX Runtime has an integer kernel for a product of 8-bit operands with a float result. It has none if the
//! result is directly quantized to 16 bits. The rule inserts an operator between the product and the quantization: the
//! maximum of the product and the smallest number of the 16-bit grid. ONNX Runtime then uses the integer kernel, and the
//! maximum does not change any code.
//! **Preconditions**: the result has one grid for the whole tensor.
//! **Exactness**: exact, because the quantization maps all numbers below this grid to the smallest code in any case.

use crate::matching::{GraphNode, tensor};
use crate::miss::{Miss, NoMatch};
use crate::rule::NodeRule;
use strait_core::op::{Binary, BinaryFunction};
use strait_core::rule::EVERYWHERE;
use strait_core::{Elem, NewNode, NodeId, Op, Patch, Source, Term};

/// The rule that inserts a maximum between a matrix product of 8-bit operands and the quantization of its result to 16
/// bits.
pub const RULE: NodeRule = NodeRule {
    name: "bound-before-wide-grid",
    anchors: || vec![Term::Gemm, Term::MatMul],
    // The rule depends on the grids of the node's readers, so a change at any distance matters.
    depth: || EVERYWHERE,
    is_fusion: false,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let (least, y) = (least(site).ok_or(NoMatch)?, site.result()?);
    let name = format!("{}_least", site.module.name(site.node.name));
    let maximum = Binary {
        function: BinaryFunction::Maximum,
    };
    let operands = [Some(Source::Old(y)), Some(Source::Data(0))];
    Ok(Patch {
        data: vec![(name, tensor(&[], &[least])?)],
        add: vec![NewNode::new(maximum, &operands, &[site.id])],
        replace: vec![(y, Source::New(0, 0))],
        ..Patch::default()
    })
}

/// Returns the smallest number on the grids to which the readers quantize the result of a matrix product with 8-bit
/// operands. Returns `None` unless all these grids have 16 bits.
fn least(site: &GraphNode<'_>) -> Option<f32> {
    let has_codes = |index: usize| {
        let codes = site.producer(site.input(index)?, Term::Dequantize)?.input(0)?;
        Some(matches!(site.graph.value(codes)?.ty.elem, Elem::I8 | Elem::U8))
    };
    let y = site.output().filter(|&y| !site.graph.is_output(y))?;
    (has_codes(0)? && has_codes(1)?).then_some(())?;
    let of_reader = |reader: NodeId| {
        let reader = site.graph.node(reader)?;
        matches!(reader.op, Op::Quantize(_)).then_some(())?;
        let codes = site.graph.value(*reader.outputs.first()?)?;
        let [least, _] = codes.quant.as_ref()?.ends_of(codes.ty.elem)?;
        (codes.ty.elem.bits() == 16).then_some(least)
    };
    let each: Option<Vec<f32>> = site.graph.uses(y).map(|reader| of_reader(reader.node)).collect();
    each?.into_iter().reduce(f32::min)
}
