//! The inputs and outputs of the file: their types, and the order of their axes.
//!
//! The graph quantizes its inputs and dequantizes its outputs. If an input or an output of the file is codes, this
//! conversion is not written. Codes of another signedness are converted by a QUANTIZE, which only adds 128. A softmax of
//! 16 bits at an output gets 8 bits by a QUANTIZE, too: LiteRT computes a softmax of 8 bits for up to 511 classes only.

use super::WriteError;
use super::emitter::{Emitter, Index, Refused, Stored};
use strait_core::layout::Order;
use strait_core::{Elem, Graph, NodeId, Op, QuantParams, ValueId};

/// The grid of the results of LiteRT's softmax of int8: scale and zero point.
const PROBABILITIES: (f32, i32) = (1.0 / 256.0, -128);

/// What the inputs and the outputs of a file are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Borders {
    /// Stores tensors with four or more axes as [N, spatial…, C]. Otherwise the axes are as in the graph.
    pub channels_last: bool,
    /// The type of the codes at the inputs: `I8`, `U8` or `I16`. `None`: real numbers.
    pub inputs: Option<Elem>,
    /// The type of the codes at the outputs: `I8`, `U8` or `I16`. `None`: real numbers.
    pub outputs: Option<Elem>,
}

impl Borders {
    /// The order in which an input or output of the file stores its axes.
    pub(super) fn order(self, graph: &Graph, value: ValueId) -> Order {
        let rank = graph.value(value).map_or(0, |value| value.ty.shape.len());
        // Bytes that the graph itself puts into its order of axes have the order of the device.
        match self.channels_last && rank >= 4 && !is_reordered(graph, value) {
            true => Order::channels_last(rank),
            false => Order::plain(rank),
        }
    }

    /// Adds the inputs of the graph to the file.
    pub(super) fn inputs(self, emitter: &mut Emitter<'_>) -> Result<(), WriteError> {
        for &input in emitter.graph.inputs() {
            let index = self.input(emitter, input);
            let index = index.map_err(|why| at(emitter, "input", input, why))?;
            emitter.file.inputs.push((emitter.name_of(input).to_owned(), index.0));
        }
        Ok(())
    }

    fn input(self, emitter: &mut Emitter<'_>, input: ValueId) -> Result<Index, Refused> {
        let order = self.order(emitter.graph, input);
        let is_real = emitter.graph.value(input).is_some_and(|value| value.ty.elem.is_float());
        if let Some(found) = OtherSign::of(emitter.graph, input) {
            return found.write(emitter, (input, order));
        }
        let Some(elem) = self.inputs.filter(|_| is_real) else {
            return emitter.define(input, order);
        };
        let graph = emitter.graph;
        let mut codes: Option<ValueId> = None;
        let mut readers = Vec::new();
        for at in graph.uses(input) {
            let (Some(node), name) = (graph.node(at.node), emitter.node_name(at.node)) else {
                continue;
            };
            let made = node
                .outputs
                .first()
                .copied()
                .filter(|_| matches!(node.op, Op::Quantize(_)));
            let made = made.ok_or_else(|| format!("`{name}` reads it as real numbers"))?;
            let grid = |value: ValueId| graph.value(value).map(|value| (value.ty.elem, value.quant.clone()));
            if codes.is_some_and(|known| grid(known) != grid(made)) {
                return Err("its readers want codes with different scales".into());
            }
            codes.get_or_insert(made);
            readers.push((at.node, made));
        }
        if graph.is_output(input) {
            return Err("it is an output, too".into());
        }
        let codes = codes.ok_or("nothing reads it")?;
        let (name, own) = (emitter.name_of(input).to_owned(), emitter.stored(codes, &order)?);
        let [given, made] = match own.elem == elem {
            true => [emitter.add(name, own, None)?; 2],
            false => {
                let given = emitter.add(name, with_sign(own, elem)?, None)?;
                let made = emitter.define(codes, order.clone())?;
                emitter.emit("QUANTIZE", &[given], &[made], None)?;
                [given, made]
            }
        };
        for (reader, codes) in readers {
            emitter.absorbed.insert(reader);
            emitter.alias(codes, order.clone(), made);
        }
        Ok(given)
    }

    /// If the outputs are codes, leaves out the conversions to real numbers in front of them.
    pub(super) fn leave_out(self, emitter: &mut Emitter<'_>) {
        let graph = emitter.graph;
        for &output in graph.outputs() {
            if let Some((id, _)) = self.codes_of(graph, output)
                && graph.uses(output).next().is_none()
            {
                emitter.absorbed.insert(id);
            }
        }
    }

    /// The node that makes real numbers of codes for an output, and these codes.
    fn codes_of(self, graph: &Graph, output: ValueId) -> Option<(NodeId, ValueId)> {
        self.outputs?;
        let (id, node) = graph.producer(output)?;
        matches!(node.op, Op::Dequantize(_)).then_some((id, node.input(0)?))
    }

    /// Adds the outputs of the graph to the file.
    pub(super) fn outputs(self, emitter: &mut Emitter<'_>) -> Result<(), WriteError> {
        for &output in emitter.graph.outputs() {
            let index = self.output(emitter, output);
            let index = index.map_err(|why| at(emitter, "output", output, why))?;
            emitter.file.outputs.push((emitter.name_of(output).to_owned(), index.0));
        }
        Ok(())
    }

    fn output(self, emitter: &mut Emitter<'_>, output: ValueId) -> Result<Index, Refused> {
        let order = self.order(emitter.graph, output);
        let is_real = emitter
            .graph
            .value(output)
            .is_some_and(|value| value.ty.elem.is_float());
        let Some(elem) = self.outputs.filter(|_| is_real) else {
            return emitter.read(output, &order);
        };
        let (id, codes) = self.codes_of(emitter.graph, output).ok_or_else(|| {
            let producer = emitter.graph.producer(output);
            let name = producer.map_or("an input", |(id, _)| emitter.node_name(id));
            format!("`{name}` makes it in real numbers; end the graph before it with `model.outputs`, or let outputs be float")
        })?;
        let index = match emitter.read(codes, &order)? {
            index if elem.bits() == 8 && is_wide_softmax(emitter.graph, codes) => narrow(emitter, index)?,
            index => index,
        };
        let (own, name) = (emitter.stored_as(index), emitter.name_of(output).to_owned());
        if own.elem == elem {
            // No other tensor has the name of the output: the DEQUANTIZE whose result had it is not written.
            if emitter.absorbed.contains(&id) && !emitter.file.outputs.iter().any(|(_, at)| *at == index.0) {
                emitter.rename(index, name);
            }
            return Ok(index);
        }
        let made = emitter.add(name, with_sign(own, elem)?, None)?;
        emitter.emit("QUANTIZE", &[index], &[made], None)?;
        Ok(made)
    }
}

/// True if an input is codes that the graph transposes before it computes with them.
fn is_reordered(graph: &Graph, input: ValueId) -> bool {
    let mut at = input;
    if graph
        .value(at)
        .is_none_or(|value| value.ty.elem.is_float() || value.quant.is_none())
    {
        return false;
    }
    while let Some(node) = graph.only_use(at).and_then(|found| graph.node(found.node)) {
        match (&node.op, node.result()) {
            (Op::Transpose(_), _) => return true,
            (Op::Dequantize(_) | Op::Quantize(_) | Op::Identity(_), Some(result)) => at = result,
            _ => return false,
        }
    }
    false
}

/// An input of 8-bit codes that the graph converts to codes of the other signedness, over real numbers. In the file this
/// is a single QUANTIZE.
struct OtherSign {
    absorbed: [NodeId; 2],
    codes: ValueId,
}

impl OtherSign {
    fn of(graph: &Graph, input: ValueId) -> Option<OtherSign> {
        let next = |value: ValueId| {
            let id = graph.only_use(value)?.node;
            Some((id, graph.node(id)?))
        };
        let (real, dequantize) = next(input).filter(|(_, node)| matches!(node.op, Op::Dequantize(_)))?;
        let (made, quantize) = next(dequantize.result()?).filter(|(_, node)| matches!(node.op, Op::Quantize(_)))?;
        let codes = quantize.result()?;
        let (from, to) = (graph.value(input)?, graph.value(codes)?);
        let distance = match (from.ty.elem, to.ty.elem) {
            (Elem::U8, Elem::I8) => -128,
            (Elem::I8, Elem::U8) => 128,
            _ => return None,
        };
        let same = from.quant.as_ref()?.bare().moved(distance) == to.quant.as_ref()?.bare();
        same.then_some(OtherSign {
            absorbed: [real, made],
            codes,
        })
    }

    fn write(self, emitter: &mut Emitter<'_>, (input, order): (ValueId, Order)) -> Result<Index, Refused> {
        let given = emitter.define(input, order.clone())?;
        let made = emitter.define(self.codes, order.clone())?;
        emitter.emit("QUANTIZE", &[given], &[made], None)?;
        emitter.absorbed.extend(self.absorbed);
        emitter.alias(self.codes, order, made);
        Ok(given)
    }
}

/// True if codes are the results of a softmax of 16 bits, or the same numbers in another shape.
fn is_wide_softmax(graph: &Graph, codes: ValueId) -> bool {
    let is_wide = |id| graph.value(id).is_some_and(|value| value.ty.elem == Elem::I16);
    let mut at = codes;
    while let Some((_, node)) = graph.producer(at).filter(|_| is_wide(at)) {
        match (&node.op, node.input(0)) {
            (Op::Softmax(_), _) => return true,
            (Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) | Op::Identity(_), Some(from)) => {
                at = from;
            }
            _ => return false,
        }
    }
    false
}

/// Adds a QUANTIZE of probabilities with 16 bits to codes of int8. A scale is 128 times the other one, so that each code
/// of int8 stands for the codes of 128 neighbours, and 1 becomes the largest code, 255/256.
fn narrow(emitter: &mut Emitter<'_>, wide: Index) -> Result<Index, Refused> {
    let (scale, zero) = PROBABILITIES;
    let name = format!("{}_int8", emitter.tensor(wide).name);
    let stored = Stored {
        elem: Elem::I8,
        grid: Some(QuantParams::tensor(scale, zero)),
        ..emitter.stored_as(wide)
    };
    let made = emitter.add(name, stored, None)?;
    emitter.emit("QUANTIZE", &[wide], &[made], None)?;
    Ok(made)
}

/// The same numbers in 8-bit codes of the other signedness: codes and zero point differ by 128.
fn with_sign(own: Stored, elem: Elem) -> Result<Stored, Refused> {
    let distance = match (own.elem, elem) {
        (Elem::I8, Elem::U8) => 128,
        (Elem::U8, Elem::I8) => -128,
        (own, _) => {
            return Err(format!(
                "its codes are {own}, which cannot be stored as {elem}; store them as they are, or as real numbers"
            ));
        }
    };
    Ok(Stored {
        elem,
        grid: own.grid.map(|grid| grid.moved(distance)),
        ..own
    })
}

fn at(emitter: &Emitter<'_>, what: &str, value: ValueId, why: Refused) -> WriteError {
    WriteError::Border {
        border: format!("{what} `{}`", emitter.name_of(value)),
        why,
    }
}
