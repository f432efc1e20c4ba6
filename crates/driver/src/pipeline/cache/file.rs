//! Makes codes of caches in the graph that is written to a file.

use std::{collections::BTreeMap, sync::Arc};

use strait_core::op::{Dequantize, Identity, Quantize};
use strait_core::{Def, Elem, Graph, Module, Names, Node, Op, QuantParams, TensorType, ValueId};
use strait_requantize::{Rounding, quantize::ZeroPoint};

use super::Codes;

/// Returns the module with codes at the inputs and outputs in `codes`.
///
/// Nodes on real numbers read an input of codes behind a `dequantize`. A rounding or a `quantize` of the input to its own
/// grid would change nothing, and is left out. An output of codes is made by a `quantize`, unless its numbers are
/// dequantized from the same codes. Returns `None` if the graph is broken.
pub(in crate::pipeline) fn with_codes(module: &Module, codes: &Codes) -> Option<Module> {
    let old = module.main();
    let mut rebuilt = Rebuilt {
        from: module,
        names: module.names.clone(),
        graph: Graph::new(old.name, old.stage()),
        real: BTreeMap::new(),
        codes: BTreeMap::new(),
    };
    for &input in old.inputs() {
        let value = old.value(input)?;
        match codes.get(module.name(value.name)) {
            None => {
                let made = rebuilt
                    .graph
                    .add_input(value.name, value.ty.clone(), value.quant.clone());
                rebuilt.real.insert(input, made);
            }
            Some((elem, grid)) => {
                let ty = of_type(&value.ty, *elem);
                let made = rebuilt.graph.add_input(value.name, ty, Some(grid.clone()));
                rebuilt.codes.insert(input, made);
            }
        }
    }
    for (id, value) in old.values() {
        if let Def::Data(data) = value.def {
            let graph = &mut rebuilt.graph;
            let made = graph.add_data(value.name, value.ty.clone(), value.quant.clone(), data);
            rebuilt.real.insert(id, made);
        }
    }
    for (_, node) in old.nodes() {
        rebuilt.node(node, codes)?;
    }
    for &output in old.outputs() {
        let made = match codes.get(module.name(old.value(output)?.name)) {
            None => rebuilt.real(output)?,
            Some(grid) => rebuilt.stored(output, grid)?,
        };
        rebuilt.graph.add_output(made);
    }
    let Rebuilt { names, graph, .. } = rebuilt;
    let mut out = module.clone();
    out.names = names;
    *out.main_mut() = graph;
    Some(out)
}

/// The type of the codes of real numbers.
fn of_type(ty: &TensorType, elem: Elem) -> TensorType {
    TensorType {
        elem,
        shape: ty.shape.clone(),
    }
}

struct Rebuilt<'a> {
    from: &'a Module,
    names: Names,
    graph: Graph,
    /// The new value for each value of the old graph.
    real: BTreeMap<ValueId, ValueId>,
    /// Codes that stand for a value of the old graph. The value itself is dequantized from them when it is needed.
    codes: BTreeMap<ValueId, ValueId>,
}

impl Rebuilt<'_> {
    /// The new value for a value of the old graph.
    fn real(&mut self, old: ValueId) -> Option<ValueId> {
        if let Some(&made) = self.real.get(&old) {
            return Some(made);
        }
        let codes = *self.codes.get(&old)?;
        let ty = of_type(&self.graph.value(codes)?.ty, Elem::F32);
        let made = self.made("dequantized", Dequantize {}, codes, (ty, None))?;
        self.real.insert(old, made);
        // A rounding of these numbers gives the same numbers.
        let same = self.codes.iter().filter(|(_, other)| **other == codes);
        let same: Vec<ValueId> = same.map(|(&value, _)| value).collect();
        self.real.extend(same.into_iter().map(|value| (value, made)));
        Some(made)
    }

    /// Adds a node with one operand and one result.
    fn made(
        &mut self,
        word: &str,
        op: impl Into<Op>,
        operand: ValueId,
        (ty, grid): (TensorType, Option<Arc<QuantParams>>),
    ) -> Option<ValueId> {
        let base = self.names.text(self.graph.value(operand)?.name).to_owned();
        let name = self.names.fresh(&format!("{base}_{word}"));
        let node = self
            .graph
            .add_node(name, op.into(), &[Some(operand)], vec![(name, ty, grid)]);
        self.graph.node(node)?.result()
    }

    fn quantized(&mut self, operand: ValueId, (elem, grid): &(Elem, Arc<QuantParams>)) -> Option<ValueId> {
        let ty = of_type(&self.graph.value(operand)?.ty, *elem);
        let op = Quantize {
            to: *elem,
            rounding: Rounding::HalfEven,
            reciprocal: false,
            zero_point: ZeroPoint::default(),
        };
        self.made("quantized", op, operand, (ty, Some(grid.clone())))
    }

    /// True if a new value is codes of this type on this grid.
    fn is_on(&self, codes: ValueId, (elem, grid): &(Elem, Arc<QuantParams>)) -> bool {
        let value = self.graph.value(codes);
        value.is_some_and(|value| value.ty.elem == *elem && value.quant.as_ref() == Some(grid))
    }

    /// Copies a node, unless codes that are already there stand for its result.
    fn node(&mut self, node: &Node, codes: &Codes) -> Option<()> {
        let old = self.from.main();
        if let (Some(operand), Some(result)) = (node.input(0), node.result()) {
            let value = old.value(result)?;
            let stored = self.codes.get(&operand).copied();
            let grid = stored.and_then(|codes| self.graph.value(codes)?.quant.clone());
            let is_same = grid.is_some() && value.quant == grid;
            match &node.op {
                Op::RoundTo(_) if is_same => {
                    self.codes.insert(result, stored?);
                    return Some(());
                }
                Op::Quantize(quantize) if is_same && self.graph.value(stored?)?.ty.elem == quantize.to => {
                    self.real.insert(result, stored?);
                    return Some(());
                }
                Op::Dequantize(_) => {
                    let own = codes.get(self.from.name(value.name));
                    if let (Some(own), Some(&made)) = (own, self.real.get(&operand))
                        && self.is_on(made, own)
                    {
                        self.codes.insert(result, made);
                        return Some(());
                    }
                }
                Op::RoundTo(_) => {
                    let own = codes.get(self.from.name(value.name));
                    if let Some(own) = own.filter(|(_, grid)| value.quant.as_ref() == Some(grid)) {
                        let real = self.real(operand)?;
                        let made = self.quantized(real, own)?;
                        self.codes.insert(result, made);
                        return Some(());
                    }
                }
                _ => {}
            }
        }
        let operands: Vec<Option<ValueId>> = node
            .inputs
            .iter()
            .map(|input| input.map_or(Some(None), |input| self.real(input).map(Some)))
            .collect::<Option<_>>()?;
        let mut results = Vec::with_capacity(node.outputs.len());
        for &output in &node.outputs {
            let value = old.value(output)?;
            // An output of codes takes this name.
            let name = match codes.contains_key(self.from.name(value.name)) {
                true => self.names.fresh(&format!("{}_real", self.from.name(value.name))),
                false => value.name,
            };
            results.push((name, value.ty.clone(), value.quant.clone()));
        }
        let id = self.graph.add_node(node.name, node.op.clone(), &operands, results);
        self.graph.set_sources(id, &node.sources);
        self.graph.set_fused(id, None, node.place.clone());
        let made = self.graph.node(id)?.outputs.clone();
        self.real.extend(node.outputs.iter().copied().zip(made));
        Some(())
    }

    /// The codes of an output, under the name of the output.
    fn stored(&mut self, output: ValueId, own: &(Elem, Arc<QuantParams>)) -> Option<ValueId> {
        let old = self.from.main();
        let known = self.codes.get(&output).copied();
        let made = match known.filter(|&codes| self.is_on(codes, own)) {
            Some(codes) => codes,
            None => {
                let real = self.real(output)?;
                self.quantized(real, own)?
            }
        };
        let is_input = self
            .graph
            .value(made)
            .is_some_and(|value| matches!(value.def, Def::Input(_)));
        let made = match is_input || self.graph.is_output(made) {
            true => {
                let ty = self.graph.value(made)?.ty.clone();
                self.made("copied", Identity {}, made, (ty, Some(own.1.clone())))?
            }
            false => made,
        };
        let name = old.value(output)?.name;
        self.graph.rename(made, name);
        Some(made)
    }
}
