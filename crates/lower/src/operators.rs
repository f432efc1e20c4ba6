//! The annotated graph on codes: each node keeps its op of the model, and reads and makes codes where the integer graph
//! has codes. Formats that have an integer operator for each op of the model (TFLite, ONNX's `QLinear…`) are written
//! from this graph, one operator for each node.
//!
//! A function that the target computes by a table of correctly rounded entries becomes a `lookup` with this table.
//!
//! A node without configs computes on real numbers. Between a node on codes and a node on real numbers, there is a
//! `quantize` or a `dequantize`. A value that a reader wants on another grid is converted by a `quantize` whose operand
//! is codes. Parameters are the codes that were baked.

use crate::error::LowerError;
use crate::lowering::Grid;
use crate::part::Part;
use crate::recipes::lookup;
use crate::simulate::{Config, Signs, config, given, left};
use crate::walk::{Basis, Build, Walk, quantize};
use std::borrow::Cow;
use strait_core::op::{Dequantize, Lookup, Quantize};
use strait_core::{
    Failure, Module, Node, NodeId, Port, QuantParams, Reason, ReasonCode, Refusal, Stage, TensorData, TensorType, Use,
    ValueId,
};
use strait_target::TargetSpec;

/// Makes the graph of `annotated` on codes, as a module in the export stage. Nodes and values keep their names.
///
/// # Errors
/// [`LowerError::Nodes`] with the first node that has no integer operator. This is a node whose result stays an
/// accumulator, whose codes are small floats, or whose codes have a range that is computed in each run.
pub fn operators(annotated: &Module, spec: &TargetSpec) -> Result<Module, LowerError> {
    let mut operators = Operators {
        walk: Walk::new(annotated, "main", Stage::Export),
        spec,
        refused: None,
    };
    let done = operators.run(&Part::whole(annotated.main())?);
    if let Some(refusal) = operators.refused {
        return Err(LowerError::Nodes(vec![refusal]));
    }
    done.map_err(|failure| LowerError::Ours(failure.to_string()))?;
    Ok(operators.walk.out)
}

struct Operators<'a> {
    walk: Walk<'a, Config>,
    spec: &'a TargetSpec,
    refused: Option<Refusal>,
}

impl Operators<'_> {
    fn config(&self, id: NodeId, port: Port) -> Option<Config> {
        config(self.walk.graph, id, port, Signs::Own)
    }

    /// True if the node computes on codes, so that its results have grids.
    fn is_on_codes(&self, id: NodeId, node: &Node) -> bool {
        (0..node.outputs.len()).any(|index| self.config(id, Port::Result(index)).is_some())
    }

    /// The table of a function of one variable, if the rows of the target's table say that it is computed by one.
    fn table(&self, id: NodeId, node: &Node) -> Result<Option<TensorData>, Failure> {
        let grid = |port| Grid::of(self.walk.graph, id, port);
        let (Some(x), Some(y), 1, Some(_)) = (
            grid(Port::Operand(0)),
            grid(Port::Result(0)),
            node.inputs.len(),
            node.op.real(),
        ) else {
            return Ok(None);
        };
        let row = self.spec.row_for(node.op.term(), x.ty.into());
        let recipe = row.and_then(|(_, row)| row.recipe);
        recipe.map_or(Ok(None), |recipe| lookup::table(&node.op, recipe, &x, &y))
    }
}

impl<'a> Build<'a> for Operators<'a> {
    type Config = Config;

    fn walk(&mut self) -> &mut Walk<'a, Config> {
        &mut self.walk
    }

    fn node(&mut self, id: NodeId, node: &'a Node) -> Result<(), Failure> {
        let on_codes = self.is_on_codes(id, node);
        let sums = (0..node.outputs.len()).map(Port::Result).any(|port| {
            let scheme = self.walk.graph.quant.scheme_of(id, port);
            scheme.is_some_and(|scheme| scheme.is_of_sums())
        });
        let odd = (0..node.inputs.len()).map(Port::Operand).any(|port| {
            let config = self.config(id, port);
            config.is_some_and(|config| config.codes().is_none())
        });
        if sums || odd {
            let text = "it computes on codes that no operator of another format has";
            let refusal = Failure::from(Reason::new(ReasonCode::Foreign, text)).refusal(id);
            self.refused.get_or_insert(refusal.map_err(Failure::Defect)?);
        }
        let mut operands = Vec::with_capacity(node.inputs.len());
        for (index, input) in node.inputs.iter().enumerate() {
            let port = Port::Operand(index);
            let (config, codes) = (self.config(id, port), self.walk.graph.quant.baked(id, port));
            operands.push(match (*input, config) {
                (None, _) => None,
                (Some(value), None) => {
                    let operand = index as u16;
                    Some(self.real_at(value, Use { node: id, operand })?)
                }
                (Some(value), Some(config)) => {
                    let made = self.on(value, &config, codes)?;
                    match on_codes {
                        true => Some(made),
                        // The weights of a node that computes on real numbers.
                        false => Some(self.walk.boundary(value, Dequantize {}, made, None)?),
                    }
                }
            });
        }
        let table = if on_codes { self.table(id, node)? } else { None };
        let mut node = Cow::Borrowed(node);
        if let Some(table) = table {
            let grid = Grid::of(self.walk.graph, id, Port::Result(0)).map(|grid| grid.params());
            operands.push(Some(self.walk.data("table", table, grid)));
            node.to_mut().op = Lookup {}.into();
        }
        let graph = self.walk.graph;
        self.walk
            .copy_on(&node, &operands, |index| {
                let config = config(graph, id, Port::Result(index), Signs::Own)?;
                let (elem, grid) = config.codes()?;
                Some((config, elem, grid))
            })
            .map(|_| ())
    }

    fn left(&self, value: ValueId) -> Option<Config> {
        left(self.walk.graph, value, |id, port| self.config(id, port))
    }

    fn convert(&mut self, value: ValueId, from: Basis<Config>, to: &Config) -> Result<ValueId, Failure> {
        let (elem, grid) = to.codes().ok_or_else(|| Failure::defect("codes without a grid"))?;
        match from {
            Basis::Codes(codes) => {
                let base = format!("{}_quantized", self.walk.name_of(value));
                self.walk.shared(&base, codes, grid)
            }
            Basis::Real(operand) | Basis::Left(_, operand) => {
                let ty = elem.int_type().ok_or_else(|| Failure::defect("codes without a type"))?;
                let op = Quantize {
                    rounding: to.scheme.rounding(),
                    ..quantize(self.spec, ty)
                };
                let shape = self.walk.out.main().value(operand).map(|value| value.ty.shape.clone());
                let shape = shape.ok_or_else(|| Failure::defect("a value is missing"))?;
                let ty = TensorType { elem, shape };
                self.walk.conversion(value, op.into(), operand, (ty, Some(grid)))
            }
        }
    }

    fn real_of(&mut self, value: ValueId, left: ValueId) -> Result<ValueId, Failure> {
        self.walk.boundary(value, Dequantize {}, left, None)
    }

    fn given(&self, value: ValueId, grid: &QuantParams) -> Option<Config> {
        given(self.walk.graph, value, (grid, Signs::Own), |id, port| {
            self.config(id, port)
        })
    }
}
