//! An operator as the functions in [`super::ops`] read it: a [`Layer`] together with the operator's options.

use crate::graph::{Graph, Node, Tensor};
use crate::schema::{Activation, BuiltinOptions};
use std::ops::{Deref, DerefMut};
use std::slice::from_ref;
use strait_core::op::{Clip, Function, Identity, Op, Relu, Transpose};
use strait_core::{Elem, QuantParams, ReasonCode};
pub(super) use strait_import::{Arg, Refusal};
use strait_import::{Builder, Layer};

/// An operator while it is being read.
pub(super) struct OperatorReader<'b, 'g> {
    layer: Layer<'b, 'g>,
    graph: &'g Graph<'g>,
    node: &'g Node<'g>,
    hybrid_as_float: bool,
}

/// Returns a field of a table. Refuses the operator if the field does not follow the schema.
pub(super) fn field<T>(read: planus::Result<T>) -> Result<T, Refusal> {
    read.map_err(|error| {
        let text = format!(
            "its option {} cannot be read: {}",
            error.source_location.method, error.error_kind
        );
        Refusal::invalid(ReasonCode::AttributeType, text)
    })
}

/// Reads the options of an operator. They must be a table of the operator's kind, or be absent.
macro_rules! options {
    ($reader:expr, $table:ident) => {
        match $reader.options()? {
            Some(crate::schema::BuiltinOptions::$table(options)) => Some(options),
            None => None,
            Some(_) => {
                return Err(crate::read::operator_reader::Refusal::invalid(
                    strait_core::ReasonCode::AttributeType,
                    concat!("its options are not ", stringify!($table)),
                ));
            }
        }
    };
}

/// Reads a field of options. If the options are absent, the result is the field's default.
macro_rules! option {
    ($options:expr, $name:ident, $default:expr) => {
        match &$options {
            Some(options) => crate::read::operator_reader::field(options.$name())?,
            None => $default,
        }
    };
}

pub(super) use {option, options};

impl<'b, 'g> OperatorReader<'b, 'g> {
    /// The operator at a position of the graph.
    pub(super) fn new(
        builder: &'b mut Builder<'g>,
        graph: &'g Graph<'g>,
        position: usize,
        hybrid_as_float: bool,
    ) -> Self {
        OperatorReader {
            layer: Layer::new(builder, position),
            graph,
            node: &graph.nodes[position],
            hybrid_as_float,
        }
    }

    /// The options of the operator; `None` if the file has none.
    pub(super) fn options(&self) -> Result<Option<BuiltinOptions<'g>>, Refusal> {
        field(self.node.view.builtin_options())
    }

    /// An operand as the file describes it.
    pub(super) fn operand_of_file(&self, position: usize) -> Option<&'g Tensor> {
        let index = self.node.inputs.get(position).copied().flatten()?;
        self.graph.tensors.get(index)
    }

    /// A result as the file describes it.
    pub(super) fn result_of_file(&self, position: usize) -> Option<&'g Tensor> {
        let index = self.node.outputs.get(position).copied().flatten()?;
        self.graph.tensors.get(index)
    }

    /// The grid of an operand.
    pub(super) fn operand_grid(&self, position: usize) -> Option<&'g QuantParams> {
        self.operand_of_file(position)?.grid.as_ref()
    }

    /// The grid of a result.
    pub(super) fn result_grid(&self, position: usize) -> Option<&'g QuantParams> {
        self.result_of_file(position)?.grid.as_ref()
    }

    /// Refuses integer weights in combination with float activations, because LiteRT quantizes such activations anew in
    /// each run.
    pub(super) fn not_hybrid(&self, activation: usize, weight: usize) -> Result<(), Refusal> {
        let is_hybrid = self.operand_grid(weight).is_some() && self.operand_grid(activation).is_none();
        match is_hybrid && !self.hybrid_as_float {
            false => Ok(()),
            true => Err(Refusal::unsupported(
                "it is hybrid: its weights are codes, and its activations are floats that are quantized anew in each run; \
                 `hybrid = \"float\"` takes the weights for the numbers that they stand for",
            )),
        }
    }

    /// Ends the layer with an op and the fused activation after it.
    pub(super) fn finish_activated(
        &mut self,
        op: impl Into<Op>,
        args: &[Arg],
        activation: Activation,
    ) -> Result<(), Refusal> {
        let op = op.into();
        match function(activation)?.or_else(|| self.hidden(&op, args)) {
            None => self.finish(op, args),
            Some(function) => {
                let result = self.push(op, args)?;
                self.on_result_grid(&result);
                self.finish(function, &[result])
            }
        }
    }

    /// Ends the layer with a value that has channels first: adds the fused activation, and a transpose to channels
    /// last.
    pub(super) fn finish_image(&mut self, image: Arg, activation: Activation) -> Result<(), Refusal> {
        self.on_result_grid(&image);
        let made = match &image {
            Arg::Value(value) => self
                .builder
                .module
                .main()
                .producer(*value)
                .map(|(_, node)| node.clone()),
            _ => None,
        };
        let hidden = || {
            let (node, grid) = made.zip(self.result_grid(0))?;
            self.hidden_activation(&node.op, &node.inputs, grid)
        };
        let image = match function(activation)?.or_else(hidden) {
            None => image,
            Some(function) => {
                let image = self.push(function, &[image])?;
                self.on_result_grid(&image);
                image
            }
        };
        let rank = self.arg_type(&image)?.shape.len();
        let permutation = channels_last(rank).into();
        self.finish(Transpose { permutation }, &[image])
    }

    /// Returns the activation that a quantization tool has left out, because the saturation of the result's codes has
    /// the same effect. Only used for operators that cannot have a fused activation.
    fn hidden(&self, op: &Op, args: &[Arg]) -> Option<Op> {
        let operands = args.iter().map(|arg| match arg {
            Arg::Operand(position) => self.operand(*position).and_then(|id| self.builder.value_at(id)),
            Arg::Value(value) => Some(*value),
            Arg::Constant(_) | Arg::Absent => None,
        });
        let operands: Vec<_> = operands.collect();
        self.hidden_activation(op, &operands, self.result_grid(0)?)
    }

    /// Gives the results their grids. If the value of a result already has another grid, the result becomes a separate
    /// value.
    pub(super) fn give_grids(&mut self) -> Result<(), Refusal> {
        for (position, index) in self.node.outputs.iter().enumerate() {
            let Some(grid) = index.and_then(|index| self.graph.tensors.get(index)?.grid.as_ref()) else {
                continue;
            };
            self.give_result(position, grid)?;
        }
        Ok(())
    }

    /// Makes a value before the fused activation have the grid of the result, too. The runtime saturates only after the
    /// activation, but saturating before it as well changes no code.
    fn on_result_grid(&mut self, value: &Arg) {
        if let (Arg::Value(value), Some(grid)) = (value, self.result_grid(0)) {
            self.builder.give(*value, grid);
        }
    }

    /// A value with channels last, transposed to channels first.
    pub(super) fn image(&mut self, x: &Arg) -> Result<Arg, Refusal> {
        let rank = self.arg_type(x)?.shape.len();
        let permutation = channels_first(rank).into();
        let image = self.push(Transpose { permutation }, from_ref(x))?;
        if let (Arg::Operand(position), Arg::Value(image)) = (x, &image)
            && let Some(grid) = self.operand_grid(*position)
        {
            self.builder.give(*image, grid);
        }
        Ok(image)
    }

    /// Makes this value the result of the layer.
    pub(super) fn finish_value(&mut self, value: &Arg) -> Result<(), Refusal> {
        self.finish(Identity {}, from_ref(value))
    }

    /// Refuses the operator unless this operand has this rank.
    pub(super) fn of_rank(&mut self, position: usize, rank: usize) -> Result<(), Refusal> {
        let found = self.rank(position)?;
        if found == rank {
            Ok(())
        } else {
            let text = format!("operand {position} has {found} axes, and {rank} are needed");
            Err(Refusal::invalid(ReasonCode::Operands, text))
        }
    }

    /// The element type of a result in our graph.
    pub(super) fn result_elem(&self, position: usize) -> Result<Elem, Refusal> {
        let tensor = self.result_of_file(position);
        match tensor {
            Some(tensor) if tensor.grid.is_some() => Ok(Elem::F32),
            Some(tensor) => crate::names::elem(tensor.elem).map_err(Refusal::Unsupported),
            None => Ok(Elem::F32),
        }
    }
}

/// The op of a fused activation.
pub(super) fn function(activation: Activation) -> Result<Option<Op>, Refusal> {
    Ok(match activation {
        Activation::None => None,
        Activation::Relu => Some(Relu {}.into()),
        Activation::ReluN1To1 => Some(Clip { min: -1.0, max: 1.0 }.into()),
        Activation::Relu6 => Some(Clip { min: 0.0, max: 6.0 }.into()),
        Activation::Tanh => Some(Function::Tanh.into()),
        Activation::SignBit => return Err(Refusal::unsupported("the fused activation SIGN_BIT is not read")),
    })
}

/// The permutation from channels last to channels first.
pub(super) fn channels_first(rank: usize) -> Vec<u32> {
    let last = rank.saturating_sub(1) as u32;
    let spatial = 1..last;
    [0, last].into_iter().take(rank).chain(spatial).collect()
}

/// The permutation from channels first to channels last.
pub(super) fn channels_last(rank: usize) -> Vec<u32> {
    let spatial = 2..rank as u32;
    std::iter::once(0)
        .chain(spatial)
        .chain(std::iter::once(1))
        .take(rank)
        .collect()
}

impl<'b, 'g> Deref for OperatorReader<'b, 'g> {
    type Target = Layer<'b, 'g>;

    fn deref(&self) -> &Layer<'b, 'g> {
        &self.layer
    }
}

impl<'b, 'g> DerefMut for OperatorReader<'b, 'g> {
    fn deref_mut(&mut self) -> &mut Layer<'b, 'g> {
        &mut self.layer
    }
}
