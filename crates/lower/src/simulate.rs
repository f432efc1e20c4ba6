//! Simulation: the annotated graph in float, with a `quantize` and a `dequantize` wherever the integer graph has codes.
//!
//! Nodes keep their names and stay what they are. What a node leaves on a grid is rounded to that; what another reads on
//! another grid or type is rounded from there once more, once for each grid and type. Parameters that are baked are not
//! quantized again: what is read are their codes ([`Parameters`]). Before they are baked, the float values are rounded
//! whenever the graph runs. Small floats and ranges of each run have no codes that other runtimes know: what they leave is a
//! `round_to`.
//!
//! It differs from the integer graph in that sums and functions are of real numbers, and are rounded once, at the end: by
//! a step of the result where the target's own arithmetic is not exact to one. Q/DQ files are this graph.

use crate::lowering::LowerError;
use crate::part::Part;
use crate::walk::{Basis, Build, Walk, quantize};
use std::sync::Arc;
use strait_core::op::{Dequantize, Quantize, RoundTo};
use strait_core::{
    Def, Elem, Failure, Module, Node, NodeId, Policy, Port, QuantParams, Scheme, Stage, State, TensorData, Term, Use,
    ValueId,
};
use strait_requantize::quantize::ZeroPoint;
use strait_target::TargetSpec;

/// Form in which baked parameters stand in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// The codes with a `dequantize` behind them, for other runtimes to read; but for 64 bits, which none of these
    /// dequantizes.
    Codes(Signs),
    /// The real numbers of the codes: a run of the graph computes nothing but with them.
    Reals,
}

/// Sign of the codes of 8 bits that activations have where other runtimes read them. With the zero point 128 further, codes of
/// the other sign stand for the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signs {
    /// That of the target.
    Own,
    /// All have one.
    Signed,
    /// None has one.
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

/// The module whose main graph is that of `annotated` with the pairs, in the float stage but for them. Activations are
/// quantized as the target does; where none is named, with a true division and the scheme's rounding.
///
/// # Errors
/// A defect of ours: what was lowered can be written like this, too.
pub fn simulate(annotated: &Module, spec: Option<&TargetSpec>, parameters: Parameters) -> Result<Module, LowerError> {
    part(annotated, spec, parameters, &Part::whole(annotated.main())?)
}

/// The part of a simulation that a change of the configs touches.
#[derive(Debug)]
pub struct Resimulated {
    /// The part, in the form of [`simulate`]: nodes and values of the model have their names. Its inputs are values in front
    /// of the first nodes that the change touches. They are as the simulation before makes them, under the same names.
    pub module: Module,
    /// These values, in the order of its inputs.
    pub inputs: Vec<ValueId>,
    /// The nodes of the model that are made anew, in the order of the graph.
    pub nodes: Vec<NodeId>,
    /// The outputs of the model that the main graph has, by position; the others are as they were.
    pub outputs: Vec<usize>,
}

/// The part of `simulate(annotated, …)` that differs from the simulation of the same graph as it was annotated `before`: the
/// nodes that read something else, and all behind them. What these read and is not kept of the simulation before is made
/// again.
///
/// # Errors
/// Those of [`simulate`].
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
    let mut simulation = Simulation {
        walk: Walk::new(annotated, "main", Stage::Float),
        spec,
        form: parameters,
    };
    let done = simulation.run(part);
    done.map_err(|failure| LowerError::Ours(failure.to_string()))?;
    Ok(simulation.walk.out)
}

struct Simulation<'a> {
    walk: Walk<'a, Config>,
    spec: Option<&'a TargetSpec>,
    form: Parameters,
}

/// Rounding of an operand or a result; a range of each run has no grid.
#[derive(Clone, PartialEq)]
struct Config {
    scheme: Scheme,
    /// The type of the codes: that of the scheme, or the one of the other sign.
    elem: Option<Elem>,
    grid: Option<Arc<QuantParams>>,
}

impl Config {
    /// A grid of a scheme's codes, in the type of this sign.
    fn of(scheme: Scheme, grid: Option<Arc<QuantParams>>, signs: Signs) -> Config {
        let own = scheme.elem();
        let elem = own.map(|own| signs.of(own));
        let distance = own.zip(elem).map_or(0, |(own, elem)| own.distance_to(elem));
        let grid = match distance {
            0 => grid,
            distance => grid.map(|grid| Arc::new(grid.moved(distance))),
        };
        Config { scheme, elem, grid }
    }
}

impl Simulation<'_> {
    /// Scheme and grid of an operand or a result, where it has them.
    fn config(&self, id: NodeId, port: Port) -> Option<Config> {
        let table = &self.walk.graph.quant;
        let config = table.id(id, port)?;
        let (scheme, grid) = (table.scheme_of(id, port)?, table.params(config));
        // What stays a sum of codes is on its grid already.
        if matches!(port, Port::Result(_)) && scheme.is_of_sums() {
            return None;
        }
        let dynamic = matches!(scheme.policy(), Policy::Linear { dynamic: true, .. });
        let rounds = match dynamic {
            true => table.state(config) != Some(State::Float),
            false => grid.is_some(),
        };
        let grid = grid.filter(|_| !dynamic);
        rounds.then(|| Config::of(scheme, grid, self.signs(id, port)))
    }

    /// The sign that the codes of an operand or a result have. Weights keep theirs: runtimes have kernels for activations without
    /// a sign beside weights with one.
    fn signs(&self, id: NodeId, port: Port) -> Signs {
        let graph = self.walk.graph;
        let weighs = |node: &Node| {
            let is_product = matches!(node.op.term(), Term::Conv | Term::ConvTranspose | Term::Gemm);
            let weights = node.inputs.get(1).copied().flatten();
            is_product && weights.is_some_and(|weights| graph.data_of(weights).is_some())
        };
        match self.form {
            Parameters::Codes(_) if port == Port::Operand(1) && graph.node(id).is_some_and(weighs) => Signs::Own,
            Parameters::Codes(signs) => signs,
            Parameters::Reals => Signs::Own,
        }
    }

    /// Real numbers to codes of a type.
    fn quantize(&self, value: ValueId, scheme: Scheme, to: Elem) -> Option<Quantize> {
        let to = to.int_type()?;
        let target = self.spec.filter(|_| self.walk.graph.data_of(value).is_none());
        Some(match target {
            Some(spec) => Quantize {
                rounding: scheme.rounding(),
                ..quantize(spec, to)
            },
            // As constants are baked, which need not be as the target quantizes what it reads.
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

    /// The node as it is, on operands that are rounded where it has configs for them.
    fn node(&mut self, id: NodeId, node: &'a Node) -> Result<(), Failure> {
        let mut operands = Vec::with_capacity(node.inputs.len());
        for (index, input) in node.inputs.iter().enumerate() {
            let port = Port::Operand(index);
            let config = self.config(id, port);
            let codes = self.walk.graph.quant.baked(id, port);
            operands.push(match (*input, config) {
                (None, _) => None,
                (Some(value), None) => {
                    let operand = index as u16;
                    Some(self.real_at(value, Use { node: id, operand })?)
                }
                (Some(value), Some(config)) => Some(self.on(value, &config, codes)?),
            });
        }
        self.walk.copy(node, &operands).map(|_| ())
    }

    fn left(&self, value: ValueId) -> Option<Config> {
        match self.walk.graph.value(value)?.def {
            Def::Node(id, position) => self.config(id, Port::Result(position.into())),
            Def::Input(position) => self.config(NodeId::OUTSIDE, Port::Input(position as usize)),
            Def::Data(_) => None,
        }
    }

    /// The value rounded.
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
        // A bias of 64 bits stays float until it is baked.
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

    fn given(&self, value: ValueId, given: &QuantParams) -> Option<Config> {
        let uses = self.walk.graph.uses(value);
        let mut read = uses.filter_map(|at| self.config(at.node, Port::Operand(at.operand.into())));
        let is_it = |config: &Config| {
            let codes = config.grid.as_deref().zip(config.elem);
            codes.is_some_and(|codes| given.has_numbers_of(codes))
        };
        let own = || {
            let signs = match self.form {
                Parameters::Codes(signs) => signs,
                Parameters::Reals => Signs::Own,
            };
            Some(Config::of(given.given_scheme()?, Some(Arc::new(given.bare())), signs))
        };
        read.find(is_it).or_else(own)
    }
}

/// Codes in the type of the other sign.
fn recoded(codes: &TensorData, elem: Elem) -> Result<TensorData, Failure> {
    let distance = i64::from(codes.elem().distance_to(elem));
    let moved: Vec<i64> = codes.to_i64()?.iter().map(|code| code + distance).collect();
    Ok(TensorData::from_integers(elem, codes.shape(), &moved)?)
}
