//! Simulation: the annotated graph in float, with a `quantize` and a `dequantize` wherever the integer graph has codes.
//!
//! Nodes keep their names and stay what they are. What a node leaves on a grid is rounded to that; what another reads on
//! another grid or type is rounded from there once more, once for each grid and type. Parameters that are baked are not
//! quantized again: what is read are their codes ([`Parameters`]). Before they are baked, the float values are rounded
//! whenever the graph runs. Small floats, blocks and ranges of each run have no codes that other runtimes know: what they leave
//! is a `round_to`.
//!
//! It differs from the integer graph in that sums and functions are of real numbers, and are rounded once, at the end: by
//! a step of the result where the target's own arithmetic is not exact to one. Q/DQ files are this graph.

use crate::boundary;
use crate::codes::reals;
use crate::lowering::LowerError;
use std::collections::BTreeMap;
use std::sync::Arc;
use strait_core::op::{Dequantize, Quantize, RoundTo};
use strait_core::{
    DataId, Def, Elem, Failure, Graph, Module, Names, Node, NodeId, Op, Placement, Policy, Port, QuantParams, Scheme,
    Stage, State, Symbol, TensorData, ValueId,
};
use strait_requantize::quantize::ZeroPoint;
use strait_target::TargetSpec;

/// Form in which baked parameters stand in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// The codes with a `dequantize` behind them, for other runtimes to read; but for 64 bits, which none of these
    /// dequantizes.
    Codes,
    /// The real numbers of the codes: a run of the graph computes nothing but with them.
    Reals,
}

/// The module whose main graph is that of `annotated` with the pairs, in the float stage but for them. Activations are
/// quantized as the target does; where none is named, with a true division and the scheme's rounding.
///
/// # Errors
/// A defect of ours: what was lowered can be written like this, too.
pub fn simulate(annotated: &Module, spec: Option<&TargetSpec>, parameters: Parameters) -> Result<Module, LowerError> {
    let graph = annotated.main();
    let ours = |failure: Failure| LowerError::Ours(failure.to_string());
    let order = graph
        .topological_order()
        .map_err(|_| LowerError::Ours("the graph has a cycle".into()))?;
    let mut names = Names::default();
    let main = Graph::new(names.intern("main"), Stage::Float);
    let model = graph.values().map(|(_, value)| value.name);
    for name in model.chain(graph.nodes().map(|(_, node)| node.name)) {
        names.intern(annotated.name(name));
    }
    let mut walk = Walk {
        source: annotated,
        graph,
        spec,
        out: Module::new(main, names),
        plain: vec![None; graph.value_bound()],
        rounded: vec![Vec::new(); graph.value_bound()],
        form: parameters,
        parameters: BTreeMap::new(),
    };
    for &input in graph.inputs() {
        if let Some(value) = graph.value(input) {
            let name = walk.intern(value.name);
            let made = walk.out.main_mut().add_input(name, value.ty.clone(), None);
            walk.plain[input.index()] = Some(made);
        }
    }
    for id in order {
        if let Some(node) = graph.node(id) {
            walk.node(id, node).map_err(ours)?;
        }
    }
    for &output in graph.outputs() {
        let made = walk.left(output).map_err(ours)?;
        walk.out.main_mut().add_output(made);
    }
    Ok(walk.out)
}

struct Walk<'a> {
    source: &'a Module,
    graph: &'a Graph,
    spec: Option<&'a TargetSpec>,
    out: Module,
    /// By value of the source: as its producer makes it.
    plain: Vec<Option<ValueId>>,
    /// The same, rounded to grids: the one that its producer leaves it on first.
    rounded: Vec<Vec<Rounded>>,
    form: Parameters,
    /// Baked parameters by value and codes.
    parameters: BTreeMap<(ValueId, DataId), ValueId>,
}

/// A value that is rounded to a grid.
#[derive(Clone)]
struct Rounded {
    config: Config,
    value: ValueId,
}

/// Rounding of an operand or a result; a range of each run has no grid.
#[derive(Clone, PartialEq)]
struct Config {
    scheme: Scheme,
    grid: Option<Arc<QuantParams>>,
}

impl Walk<'_> {
    fn node(&mut self, id: NodeId, node: &Node) -> Result<(), Failure> {
        let on_accelerator = node.place == Placement::Accelerator;
        let mut operands = Vec::with_capacity(node.inputs.len());
        for (index, input) in node.inputs.iter().enumerate() {
            let config = self.config(id, Port::Operand(index)).filter(|_| on_accelerator);
            let codes = self.graph.quant.baked(id, Port::Operand(index));
            operands.push(match (*input, config) {
                (None, _) => None,
                (Some(value), None) => Some(self.left(value)?),
                (Some(value), Some(config)) => Some(match codes {
                    Some(codes) => self.parameter(value, codes, &config)?,
                    None => self.rounded(value, &config)?,
                }),
            });
        }
        let name = self.intern(node.name);
        let results = node.outputs.iter().filter_map(|&value| self.graph.value(value));
        let results: Vec<_> = results.map(|value| (value.name, value.ty.clone())).collect();
        let results = results
            .into_iter()
            .map(|(name, ty)| (self.intern(name), ty, None))
            .collect();
        let made = self.out.main_mut().add_node(name, node.op.clone(), &operands, results);
        let made = self
            .out
            .main()
            .node(made)
            .map(|node| node.outputs.clone())
            .unwrap_or_default();
        for (&value, made) in node.outputs.iter().zip(made) {
            self.plain[value.index()] = Some(made);
        }
        Ok(())
    }

    /// A parameter as its codes say it.
    fn parameter(&mut self, value: ValueId, codes: DataId, config: &Config) -> Result<ValueId, Failure> {
        if let Some(&made) = self.parameters.get(&(value, codes)) {
            return Ok(made);
        }
        let missing = || Failure::defect("the codes of a parameter are not there");
        let (tensor, grid) = (self.source.data(codes), config.grid.clone());
        let (tensor, grid) = tensor.zip(grid).ok_or_else(missing)?;
        let name = self.graph.value(value).ok_or_else(missing)?.name;
        let name = self.source.name(name).to_owned();
        let made = if self.form == Parameters::Reals || tensor.elem() == Elem::I64 {
            let tensor = TensorData::from_values(tensor.shape(), &reals(tensor, &grid)?)?;
            let (name, ty) = (
                self.out.names.fresh(&format!("{name}_dequantized")),
                tensor.tensor_type(),
            );
            let data = self.out.add_data(tensor);
            self.out.main_mut().add_data(name, ty, None, data)
        } else {
            let tensor = tensor.clone();
            self.dequantized(value, tensor, grid)
        };
        self.parameters.insert((value, codes), made);
        Ok(made)
    }

    /// Scheme and grid of an operand or a result, where it has them.
    fn config(&self, id: NodeId, port: Port) -> Option<Config> {
        let table = &self.graph.quant;
        let config = table.id(id, port)?;
        let (scheme, grid) = (table.scheme_of(id, port)?, table.params(config));
        let dynamic = matches!(scheme.policy(), Policy::Linear { dynamic: true, .. });
        let rounds = match dynamic {
            true => table.state(config) != Some(State::Float),
            false => grid.is_some(),
        };
        rounds.then(|| Config {
            scheme,
            grid: grid.filter(|_| !dynamic),
        })
    }

    /// A value as its producer leaves it: rounded, where that has a grid.
    fn left(&mut self, value: ValueId) -> Result<ValueId, Failure> {
        let Some(Def::Node(id, position)) = self.graph.value(value).map(|value| value.def) else {
            return self.plain(value);
        };
        match self.config(id, Port::Result(position.into())) {
            Some(config) => self.rounded(value, &config),
            None => self.plain(value),
        }
    }

    /// A value rounded to a grid: as its producer leaves it, and from there where the grid is another one.
    fn rounded(&mut self, value: ValueId, config: &Config) -> Result<ValueId, Failure> {
        let known = self.rounded[value.index()].iter();
        let mut known = known.filter(|known| known.config == *config);
        if let Some(known) = known.next() {
            return Ok(known.value);
        }
        let name = self
            .graph
            .value(value)
            .ok_or_else(|| Failure::defect("a value is missing"))?
            .name;
        let own = match self.graph.value(value).map(|value| value.def) {
            Some(Def::Node(id, position)) => self.config(id, Port::Result(position.into())),
            _ => None,
        };
        let own = own.filter(|own| own != config);
        let operand = match own {
            Some(own) => self.rounded(value, &own)?,
            None => self.plain(value)?,
        };
        // A bias of 64 bits stays float until it is baked.
        if config.scheme.elem() == Some(Elem::I64) {
            return Ok(operand);
        }
        let codes = config.scheme.elem().and_then(Elem::int_type);
        let quantizes = config.grid.clone().zip(codes).filter(|(grid, _)| grid.block.is_none());
        let made = match quantizes {
            Some((grid, to)) => {
                let target = self.spec.filter(|_| self.graph.data_of(value).is_none());
                let quantize = match target {
                    Some(spec) => boundary::quantize(spec, to),
                    // As constants are baked, which need not be as the target quantizes what it reads.
                    None => Quantize {
                        to: to.into(),
                        rounding: config.scheme.rounding(),
                        reciprocal: false,
                        zero_point: ZeroPoint::After,
                    },
                };
                let codes = self.convert(name, quantize.into(), operand, to.into(), Some(grid), "quantized");
                self.convert(name, Dequantize {}.into(), codes, Elem::F32, None, "dequantized")
            }
            None => {
                let scheme = config.scheme;
                let grid = config.grid.clone();
                self.convert(name, RoundTo { scheme }.into(), operand, Elem::F32, grid, "rounded")
            }
        };
        self.rounded[value.index()].push(Rounded {
            config: config.clone(),
            value: made,
        });
        Ok(made)
    }

    fn plain(&mut self, value: ValueId) -> Result<ValueId, Failure> {
        if let Some(made) = self.plain[value.index()] {
            return Ok(made);
        }
        let missing = || Failure::defect("a value was never made");
        let source = self.graph.value(value).ok_or_else(missing)?;
        let Def::Data(data) = source.def else {
            return Err(missing());
        };
        let tensor: TensorData = self.source.data(data).ok_or_else(missing)?.clone();
        let name = self.intern(source.name);
        let data = self.out.add_data(tensor);
        let made = self.out.main_mut().add_data(name, source.ty.clone(), None, data);
        self.plain[value.index()] = Some(made);
        Ok(made)
    }

    /// A constant of the source, as codes and a `dequantize` behind them.
    fn dequantized(&mut self, value: ValueId, codes: TensorData, grid: Arc<QuantParams>) -> ValueId {
        let name = self
            .graph
            .value(value)
            .map_or("", |value| self.source.name(value.name))
            .to_owned();
        let (symbol, ty) = (self.out.names.fresh(&format!("{name}_quantized")), codes.tensor_type());
        let data = self.out.add_data(codes);
        let made = self.out.main_mut().add_data(symbol, ty, Some(grid), data);
        let source = self.out.names.intern(&name);
        self.after(source, Dequantize {}.into(), made, Elem::F32, None, "dequantized")
    }

    fn convert(
        &mut self,
        name: Symbol,
        op: Op,
        operand: ValueId,
        elem: Elem,
        quant: Option<Arc<QuantParams>>,
        what: &str,
    ) -> ValueId {
        let name = self.intern(name);
        self.after(name, op, operand, elem, quant, what)
    }

    /// A node of one operand, named after a value of the new module.
    fn after(
        &mut self,
        name: Symbol,
        op: Op,
        operand: ValueId,
        elem: Elem,
        quant: Option<Arc<QuantParams>>,
        what: &str,
    ) -> ValueId {
        let base = format!("{}_{what}", self.out.name(name));
        let name = self.out.names.fresh(&base);
        boundary::convert(&mut self.out, [name, name], op, operand, elem, quant)
    }

    fn intern(&mut self, name: Symbol) -> Symbol {
        self.out.names.intern(self.source.name(name))
    }
}
