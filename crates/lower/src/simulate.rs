//! Simulation: the annotated graph in float, with a `quantize` and a `dequantize` at each place where the integer graph
//! has codes.
//!
//! Nodes keep their names and their ops. The result of a node is rounded to its grid. If a reader has another grid or
//! type, the rounded value is rounded again to that grid and type. All readers with the same grid and type share the
//! result. A baked parameter is not quantized again: the simulation reads its codes ([`Parameters`]). Before baking,
//! the float parameters are rounded in each run of the simulation. Other runtimes have no ops for small floats, or for
//! ranges that are computed in each run (dynamic ranges). Values with such codes are rounded by a `round_to`.
//!
//! The simulation differs from the integer graph in one way: it computes sums and functions on real numbers and rounds
//! each result once, at the end. Where the target's own arithmetic is not exact, results can differ by one step of
//! their grid. Q/DQ files contain the simulation.

use crate::error::LowerError;
use crate::part::Part;
use crate::walk::{Basis, Build, Walk, quantize};
use std::sync::Arc;
use strait_core::op::{Dequantize, Quantize, RoundTo};
use strait_core::{
    Def, Elem, Failure, Graph, Module, Node, NodeId, Policy, Port, QuantParams, Scheme, Stage, State, TensorData, Term,
    Use, ValueId,
};
use strait_requantize::{IntType, quantize::ZeroPoint};
use strait_target::TargetSpec;

/// How a simulation contains baked parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// Parameters are codes that a `dequantize` reads, so that other runtimes can read them. Codes of 64 bits are the
    /// exception: they become real numbers, because no runtime dequantizes them.
    Codes(Signs),
    /// Parameters are the real numbers that the codes stand for. A run of the simulation then needs no conversion.
    Reals,
}

/// The signedness of 8-bit codes of activations. It can be changed, because other runtimes may support only signed or
/// only unsigned codes. The zero point then changes by 128 together with the codes, so the codes stand for the same
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signs {
    /// The codes of activations have the target's signedness.
    Own,
    /// All codes of activations are signed.
    Signed,
    /// All codes of activations are unsigned.
    Unsigned,
}

impl Signs {
    fn of(self, elem: Elem) -> Elem {
        match (self, elem) {
            (Signs::Unsigned, Elem::I8) => Elem::U8,
            (Signs::Signed, Elem::U8) => Elem::I8,
            (Signs::Own | Signs::Signed | Signs::Unsigned, elem) => elem,
        }
    }
}

/// Makes the simulation of `annotated`. It is a module in the float stage whose main graph is that of `annotated` with
/// pairs of `quantize` and `dequantize`. Activations are quantized as the target quantizes them. Without a target, they
/// are divided by the scale and rounded as the scheme says.
///
/// # Errors
/// A defect of the compiler, because every graph that can be lowered can also be simulated.
pub fn simulate(annotated: &Module, spec: Option<&TargetSpec>, parameters: Parameters) -> Result<Module, LowerError> {
    part(annotated, spec, parameters, &Part::whole(annotated.main())?)
}

/// Makes the simulation of `annotated` in which codes of activations have no limits: numbers are rounded to the grids,
/// but none of them saturates. Comparing it with [`simulate`] shows what saturation costs. In exact terms, an 8-bit code
/// gets the limits of 16-bit codes, which is a range 256 times as wide, and a 16-bit code those of 32-bit codes.
///
/// # Errors
/// Errors of [`simulate`].
pub fn simulate_unlimited(annotated: &Module, spec: Option<&TargetSpec>) -> Result<Module, LowerError> {
    let mut simulation = Simulation {
        saturates: false,
        ..Simulation::new(annotated, spec, Parameters::Reals)
    };
    let done = simulation.run(&Part::whole(annotated.main())?);
    done.map_err(|failure| LowerError::Ours(failure.to_string()))?;
    Ok(simulation.walk.out)
}

/// The part of a simulation that changes if configs change.
#[derive(Debug)]
pub struct Resimulated {
    /// The simulation of the affected part. As in [`simulate`], nodes and values keep the names that they have in the
    /// model. The inputs of this graph are the values that the part reads from the unchanged rest. These inputs have
    /// the same numbers and names as in the previous simulation.
    pub module: Module,
    /// The values of the model that are the inputs of the part, in the order of these inputs.
    pub inputs: Vec<ValueId>,
    /// The nodes of the model that are computed anew, in the order of the graph.
    pub nodes: Vec<NodeId>,
    /// The indices of the model's outputs that the part makes. The other outputs have not changed.
    pub outputs: Vec<usize>,
}

/// Makes only the part of `simulate(annotated, …)` that differs from the simulation with the annotation `before`. This
/// part contains the nodes that have other configs or parameters, and all nodes that depend on their results. If these
/// nodes read a value of the old simulation that was not stored, the part computes this value again.
///
/// # Errors
/// Errors of [`simulate`].
pub fn resimulate(
    annotated: &Module,
    before: &Module,
    is_kept: impl Fn(ValueId) -> bool,
    spec: Option<&TargetSpec>,
    parameters: Parameters,
) -> Result<Resimulated, LowerError> {
    let touched = Part::touched(annotated, before, is_kept)?;
    Ok(Resimulated {
        module: part(annotated, spec, parameters, &touched)?,
        inputs: touched.inputs,
        nodes: touched.nodes,
        outputs: touched.outputs,
    })
}

fn part(
    annotated: &Module,
    spec: Option<&TargetSpec>,
    parameters: Parameters,
    part: &Part,
) -> Result<Module, LowerError> {
    let mut simulation = Simulation::new(annotated, spec, parameters);
    let done = simulation.run(part);
    done.map_err(|failure| LowerError::Ours(failure.to_string()))?;
    Ok(simulation.walk.out)
}

pub(crate) struct Simulation<'a> {
    pub(crate) walk: Walk<'a, Config>,
    spec: Option<&'a TargetSpec>,
    form: Parameters,
    /// False if codes of activations have no limits.
    saturates: bool,
}

/// How an operand or a result is rounded. If the range is dynamic, it is computed in each run, and there is no grid.
#[derive(Clone, PartialEq)]
pub(crate) struct Config {
    pub(crate) scheme: Scheme,
    /// The type of the codes: the scheme's type, or the same type with the other signedness.
    elem: Option<Elem>,
    grid: Option<Arc<QuantParams>>,
}

impl Config {
    /// The config for codes of a scheme on a grid, changed to the signedness `signs`.
    pub(crate) fn of(scheme: Scheme, grid: Option<Arc<QuantParams>>, signs: Signs) -> Config {
        let own = scheme.elem();
        let elem = own.map(|own| signs.of(own));
        let distance = own.zip(elem).map_or(0, |(own, elem)| own.distance_to(elem));
        let grid = match distance {
            0 => grid,
            distance => grid.map(|grid| Arc::new(grid.moved(distance))),
        };
        Config { scheme, elem, grid }
    }

    /// The same grid, with codes of a much larger type.
    fn unlimited(self) -> Config {
        let elem = self.elem.map(|elem| match elem.int_type().map(IntType::bits) {
            Some(..=8) => Elem::I16,
            Some(..=16) => Elem::I32,
            Some(_) | None => elem,
        });
        Config { elem, ..self }
    }

    /// The type and the grid of the codes. `None` for small floats, and if the range is dynamic.
    pub(crate) fn codes(&self) -> Option<(Elem, Arc<QuantParams>)> {
        self.elem.zip(self.grid.clone())
    }
}

/// The scheme and grid of an operand or a result, with codes of the signedness `signs`. `None` if it is not rounded.
pub(crate) fn config(graph: &Graph, id: NodeId, port: Port, signs: Signs) -> Option<Config> {
    let table = &graph.quant;
    let config = table.id(id, port)?;
    let (scheme, grid) = (table.scheme_of(id, port)?, table.params(config));
    // A result that stays a sum of codes needs no rounding.
    if matches!(port, Port::Result(_)) && scheme.is_of_sums() {
        return None;
    }
    let dynamic = matches!(scheme.policy(), Policy::Linear { dynamic: true, .. });
    let rounds = match dynamic {
        true => table.state(config) != Some(State::Float),
        false => grid.is_some(),
    };
    let grid = grid.filter(|_| !dynamic);
    rounds.then(|| Config::of(scheme, grid, signs))
}

/// Returns the config of the codes that the producer of a value stores. `config` gives the config of each operand and
/// result.
pub(crate) fn left(graph: &Graph, value: ValueId, config: impl Fn(NodeId, Port) -> Option<Config>) -> Option<Config> {
    match graph.value(value)?.def {
        Def::Node(id, position) => config(id, Port::Result(position.into())),
        Def::Input(position) => config(NodeId::OUTSIDE, Port::Input(position as usize)),
        Def::Data(_) => None,
    }
}

/// Returns the config with which a value is rounded to the grid that the model gives for it. If a reader has a config
/// whose grid has the same numbers, this is the reader's config. Otherwise it is a config with the model's grid,
/// changed to the signedness `signs`.
pub(crate) fn given(
    graph: &Graph,
    value: ValueId,
    (grid, signs): (&QuantParams, Signs),
    config: impl Fn(NodeId, Port) -> Option<Config>,
) -> Option<Config> {
    let mut read = graph
        .uses(value)
        .filter_map(|at| config(at.node, Port::Operand(at.operand.into())));
    let is_it = |config: &Config| {
        let codes = config.grid.as_deref().zip(config.elem);
        codes.is_some_and(|codes| grid.has_numbers_of(codes))
    };
    let own = || Some(Config::of(grid.given_scheme()?, Some(Arc::new(grid.bare())), signs));
    read.find(is_it).or_else(own)
}

impl<'a> Simulation<'a> {
    pub(crate) fn new(annotated: &'a Module, spec: Option<&'a TargetSpec>, form: Parameters) -> Simulation<'a> {
        Simulation {
            walk: Walk::new(annotated, "main", Stage::Float),
            spec,
            form,
            saturates: true,
        }
    }

    /// A value as a node reads it at an operand: rounded, if there is a config for the operand.
    pub(crate) fn operand(&mut self, id: NodeId, index: usize, value: ValueId) -> Result<ValueId, Failure> {
        let port = Port::Operand(index);
        let config = self.config(id, port);
        let codes = self.walk.graph.quant.baked(id, port);
        match config {
            None => {
                let operand = index as u16;
                self.real_at(value, Use { node: id, operand })
            }
            Some(config) => self.on(value, &config, codes),
        }
    }

    fn config(&self, id: NodeId, port: Port) -> Option<Config> {
        let graph = self.walk.graph;
        let found = config(graph, id, port, self.signs(id, port));
        let is_parameter = || {
            let value = graph.value_at(id, port);
            value.is_some_and(|value| graph.data_of(value).is_some())
        };
        match self.saturates || is_parameter() {
            true => found,
            false => found.map(Config::unlimited),
        }
    }

    /// Returns the signedness of the codes of an operand or a result. Weights keep the target's signedness, because
    /// runtimes have kernels for unsigned activations with signed weights.
    fn signs(&self, id: NodeId, port: Port) -> Signs {
        let graph = self.walk.graph;
        let weighs = |node: &Node| {
            let is_product = matches!(node.op.term(), Term::Conv | Term::ConvTranspose | Term::Gemm);
            let weights = node.input(1);
            is_product && weights.is_some_and(|weights| graph.data_of(weights).is_some())
        };
        let is_table = |node: &Node| node.op.term() == Term::Gather && graph.quant.id(id, Port::Result(0)).is_none();
        match self.form {
            Parameters::Codes(_) if port == Port::Operand(1) && graph.node(id).is_some_and(weighs) => Signs::Own,
            Parameters::Codes(_) if port == Port::Operand(0) && graph.node(id).is_some_and(is_table) => Signs::Own,
            Parameters::Codes(signs) => signs,
            Parameters::Reals => Signs::Own,
        }
    }

    /// The op that quantizes real numbers to codes of a type.
    fn quantize(&self, value: ValueId, scheme: Scheme, to: Elem) -> Option<Quantize> {
        let to = to.int_type()?;
        let target = self.spec.filter(|_| self.walk.graph.data_of(value).is_none());
        Some(match target {
            Some(spec) => Quantize {
                rounding: scheme.rounding(),
                ..quantize(spec, to)
            },
            // Constants are quantized in the same way as in baking. The target may quantize activations differently.
            None => Quantize {
                to: to.into(),
                rounding: scheme.rounding(),
                reciprocal: false,
                zero_point: ZeroPoint::After,
            },
        })
    }
}

impl<'a> Build<'a> for Simulation<'a> {
    type Config = Config;

    fn walk(&mut self) -> &mut Walk<'a, Config> {
        &mut self.walk
    }

    /// Copies a node. Its operands are rounded if there are configs for them.
    fn node(&mut self, id: NodeId, node: &'a Node) -> Result<(), Failure> {
        let mut operands = Vec::with_capacity(node.inputs.len());
        for (index, input) in node.inputs.iter().enumerate() {
            let operand = input.map(|value| self.operand(id, index, value));
            operands.push(operand.transpose()?);
        }
        self.walk.copy(node, &operands).map(|_| ())
    }

    fn left(&self, value: ValueId) -> Option<Config> {
        left(self.walk.graph, value, |id, port| self.config(id, port))
    }

    /// Rounds a value to the config `to`.
    fn convert(&mut self, value: ValueId, from: Basis<Config>, to: &Config) -> Result<ValueId, Failure> {
        let (scheme, elem, grid, walk) = (to.scheme, to.elem, to.grid.clone(), &mut self.walk);
        let operand = match (from, grid.clone()) {
            (Basis::Left(_, operand) | Basis::Real(operand), _) => operand,
            (Basis::Codes(codes), Some(grid)) => {
                let (name, tensor) = (walk.name_of(value), walk.parameter(codes)?);
                if self.form == Parameters::Reals || tensor.elem() == Elem::I64 {
                    let numbers = grid.reals(tensor)?;
                    let numbers =
                        numbers.ok_or_else(|| Failure::defect("the blocks of a grid do not fill its axis"))?;
                    let tensor = TensorData::from_values(tensor.shape(), &numbers)?;
                    return Ok(walk.data(&format!("{name}_dequantized"), tensor, None));
                }
                let base = format!("{name}_quantized");
                let codes = match elem.filter(|&elem| elem != tensor.elem()) {
                    None => walk.shared(&base, codes, grid)?,
                    Some(elem) => walk.data(&base, recoded(tensor, elem)?, Some(grid)),
                };
                return walk.boundary(value, Dequantize {}, codes, None);
            }
            (Basis::Codes(_), None) => return Err(Failure::defect("the codes of a parameter have no grid")),
        };
        // Biases with 64-bit codes stay float until they are baked.
        if elem == Some(Elem::I64) {
            return Ok(operand);
        }
        let fixed = grid.clone().zip(elem);
        let quantize = fixed.and_then(|(grid, to)| Some((self.quantize(value, scheme, to)?, grid)));
        match quantize {
            Some((quantize, grid)) => {
                let codes = self.walk.boundary(value, quantize, operand, Some(grid))?;
                self.walk.boundary(value, Dequantize {}, codes, None)
            }
            None => self.walk.boundary(value, RoundTo { scheme }, operand, grid),
        }
    }

    fn real_of(&mut self, _: ValueId, left: ValueId) -> Result<ValueId, Failure> {
        Ok(left)
    }

    fn given(&self, value: ValueId, grid: &QuantParams) -> Option<Config> {
        let signs = match self.form {
            Parameters::Codes(signs) => signs,
            Parameters::Reals => Signs::Own,
        };
        given(self.walk.graph, value, (grid, signs), |id, port| self.config(id, port))
    }
}

/// Converts codes to the type with the other signedness, so that they stand for the same numbers.
fn recoded(codes: &TensorData, elem: Elem) -> Result<TensorData, Failure> {
    let distance = i64::from(codes.elem().distance_to(elem));
    let moved: Vec<i64> = codes.to_i64()?.iter().map(|code| code + distance).collect();
    Ok(TensorData::from_integers(elem, codes.shape(), &moved)?)
}
