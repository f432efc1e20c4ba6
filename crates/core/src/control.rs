//! Ops that run other graphs (`call`, `if`, `loop`), and the types of their results.

use crate::elem::Elem;
use crate::graph::Graph;
use crate::ids::{GraphId, MAX_RESULTS, ValueId};
use crate::module::Module;
use crate::op::{If, Loop, Op, Results};
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::shape::{Dim, TensorType};
use smallvec::{SmallVec, smallvec};

/// The type of an operand or result; `None` if the operand or result is absent.
type OptionalType<'a> = Option<&'a TensorType>;

impl Op {
    /// Returns the graphs that the op runs, in the order of its attributes.
    pub fn graphs(&self) -> SmallVec<[GraphId; 2]> {
        let id = GraphId::of;
        match self {
            Op::Call(op) => smallvec![id(op.graph)],
            Op::If(op) => smallvec![id(op.then_graph), id(op.else_graph)],
            Op::Loop(op) => smallvec![id(op.body)],
            _ => SmallVec::new(),
        }
    }

    /// Returns the number of graphs that the op called `name` runs.
    pub(crate) fn graph_count(name: &str) -> usize {
        match name {
            "call" | "loop" => 1,
            "if" => 2,
            _ => 0,
        }
    }

    /// Returns the same op, but running other graphs. `of` maps the id of each graph to the id of its replacement.
    pub fn with_graphs(&self, of: impl Fn(GraphId) -> GraphId) -> Op {
        // Graph ids have 32 bits, so the cast loses nothing.
        let id = |graph: u32| of(GraphId::of(graph)).index() as u32;
        let mut other = self.clone();
        match &mut other {
            Op::Call(op) => op.graph = id(op.graph),
            Op::If(op) => (op.then_graph, op.else_graph) = (id(op.then_graph), id(op.else_graph)),
            Op::Loop(op) => op.body = id(op.body),
            _ => {}
        }
        other
    }
}

impl Graph {
    /// Replaces the graphs that the nodes run; see [`Op::with_graphs`].
    pub(crate) fn rename_graphs(&mut self, of: impl Fn(GraphId) -> GraphId) {
        let nodes = self.nodes.iter_mut().flatten();
        for node in nodes.filter(|node| !node.op.graphs().is_empty()) {
            node.op = node.op.with_graphs(&of);
        }
    }
}

impl Module {
    /// If the op runs graphs, returns the types of its results. Returns `None` for every other op.
    ///
    /// # Errors
    /// A graph does not exist, or the operands do not fit the inputs of the graph.
    pub(crate) fn results_of_graphs(&self, op: &Op, operands: &[OptionalType<'_>]) -> Option<Result<Results, Reason>> {
        match op {
            Op::Call(op) => Some(
                self.named(op.graph)
                    .and_then(|callee| few(types(callee, callee.outputs()))),
            ),
            Op::If(op) => Some(self.results_of_if(op, operands)),
            Op::Loop(op) => Some(self.results_of_loop(op, operands)),
            _ => None,
        }
    }

    fn results_of_if(&self, op: &If, operands: &[OptionalType<'_>]) -> Result<Results, Reason> {
        let [Some(condition), captured @ ..] = operands else {
            return Err(wrong("it has no condition"));
        };
        single(condition, Elem::Bool, "the condition")?;
        let branches = [self.named(op.then_graph)?, self.named(op.else_graph)?];
        for graph in branches {
            accepts(graph, captured)?;
        }
        let [then, other] = branches.map(|graph| types(graph, graph.outputs()));
        if then.len() != other.len() {
            return Err(wrong(format!(
                "one graph has {} results, the other {}",
                then.len(),
                other.len()
            )));
        }
        let both = then.iter().zip(&other).enumerate();
        let joined = both.map(|(position, (a, b))| match alike(a, b) {
            true => Ok(TensorType {
                elem: a.elem,
                shape: a.shape.iter().zip(&b.shape).map(|(&a, &b)| joined(a, b)).collect(),
            }),
            false => Err(wrong(format!("result {position} is {a} or {b}"))),
        });
        few(joined.collect::<Result<Results, Reason>>()?)
    }

    fn results_of_loop(&self, op: &Loop, operands: &[OptionalType<'_>]) -> Result<Results, Reason> {
        let (body, carried) = (self.named(op.body)?, op.carried as usize);
        for (position, elem, what) in [(0, Elem::I64, "the most runs"), (1, Elem::Bool, "the condition")] {
            if let Some(Some(ty)) = operands.get(position) {
                single(ty, elem, what)?;
            }
        }
        let own = [Elem::I64, Elem::Bool].map(|elem| TensorType::fixed(elem, &[]));
        let rest = operands.get(Loop::BOUNDS..).unwrap_or_default();
        let all: Vec<OptionalType<'_>> = own.iter().map(Some).chain(rest.iter().copied()).collect();
        accepts(body, &all)?;
        let made = types(body, body.outputs());
        let [condition, made @ ..] = &made[..] else {
            return Err(wrong("its body does not say whether there is another run"));
        };
        single(condition, Elem::Bool, "the body's condition")?;
        let inputs = types(body, body.inputs().get(Loop::BOUNDS..).unwrap_or_default());
        if carried > inputs.len() || carried > made.len() {
            return Err(wrong(format!("its body does not carry {carried} values")));
        }
        let (after, stacks) = made.split_at(carried);
        let mut results = Results::new();
        for (position, (before, after)) in inputs.iter().zip(after).enumerate() {
            let fits = |(before, after): (&Dim, &Dim)| before == after || before.fixed().is_none();
            if !alike(before, after) || !before.shape.iter().zip(&after.shape).all(fits) {
                return Err(wrong(format!(
                    "the carried value {position} is {before} in front of a run, and {after} behind it"
                )));
            }
            results.push(opened(before));
        }
        let trips = u64::try_from(op.trips).map_or(Dim::OPEN, Dim::Fixed);
        for stacked in stacks.iter().map(opened) {
            let mut shape = stacked.shape;
            shape.insert(0, trips);
            results.push(TensorType {
                elem: stacked.elem,
                shape,
            });
        }
        few(results)
    }

    fn named(&self, graph: u32) -> Result<&Graph, Reason> {
        let found = self.graphs.get(graph as usize);
        found.ok_or_else(|| Reason::new(ReasonCode::Call, format!("there is no graph {graph}")))
    }

    /// Gives each extent that depends on data ([`Dim::OPEN`]) a name of its own, derived from `base`.
    pub fn name_extents(&mut self, base: &str, types: &mut [TensorType]) {
        for ty in types {
            for (axis, dim) in ty.shape.iter_mut().enumerate() {
                if *dim == Dim::OPEN {
                    *dim = Dim::Named(self.names.fresh(&format!("{base}.{axis}")));
                }
            }
        }
    }
}

fn types(graph: &Graph, values: &[ValueId]) -> Results {
    let types = values.iter().filter_map(|&value| graph.value(value));
    types.map(|value| value.ty.clone()).collect()
}

/// Returns the type of a result as other graphs see it. Names of extents have a meaning only inside of one graph, so
/// every extent that is not fixed becomes [`Dim::OPEN`].
fn opened(ty: &TensorType) -> TensorType {
    let open = |dim: &Dim| dim.fixed().map_or(Dim::OPEN, Dim::Fixed);
    TensorType {
        elem: ty.elem,
        shape: ty.shape.iter().map(open).collect(),
    }
}

/// Returns the extent of a result that either of two graphs computes.
fn joined(a: Dim, b: Dim) -> Dim {
    match (a, b) {
        (Dim::Fixed(a), Dim::Fixed(b)) if a == b => Dim::Fixed(a),
        _ => Dim::OPEN,
    }
}

fn alike(a: &TensorType, b: &TensorType) -> bool {
    a.elem == b.elem && a.shape.len() == b.shape.len()
}

/// Checks that the operands fit the inputs of a graph. An input with a named extent accepts any extent.
fn accepts(graph: &Graph, operands: &[OptionalType<'_>]) -> Result<(), Reason> {
    let inputs = types(graph, graph.inputs());
    let fits = |(input, operand): (&TensorType, &OptionalType<'_>)| {
        operand.is_some_and(|operand| {
            let mut dims = input.shape.iter().zip(&operand.shape);
            alike(input, operand) && dims.all(|(input, dim)| input.fixed().is_none() || input == dim)
        })
    };
    match inputs.len() == operands.len() && inputs.iter().zip(operands).all(fits) {
        true => Ok(()),
        false => Err(wrong("the operands are not the inputs of a graph that it names")),
    }
}

/// Checks that a tensor has exactly one element, and that it has the element type `elem`.
fn single(ty: &TensorType, elem: Elem, what: &str) -> Result<(), Reason> {
    match ty.elem == elem && ty.shape.iter().all(|dim| dim.may_equal(Dim::Fixed(1))) {
        true => Ok(()),
        false => Err(wrong(format!("{what} is {ty}, and not one {elem}"))),
    }
}

fn few(results: Results) -> Result<Results, Reason> {
    match results.len() <= MAX_RESULTS {
        true => Ok(results),
        false => Err(wrong(format!("a graph has more than {MAX_RESULTS} outputs"))),
    }
}

fn wrong(text: impl Into<String>) -> Reason {
    Reason::new(ReasonCode::Call, text)
}
