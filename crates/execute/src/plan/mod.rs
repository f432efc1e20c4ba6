//! A plan has the steps in order, the constants, and a place in the arena for every value.
//!
//! This file, `build`, `late` and `late/control` use each other, because a node that runs other graphs has a plan for
//! each of them.

mod build;
mod orders;

pub(crate) use build::{is_aligned, ordered};

use crate::aligned::AlignedBytes;
use crate::error::{ExecuteError, StepError};
use crate::inputs;
use crate::late::Late;
use crate::options::PlanOptions;
use crate::step::{Input, Io, Step};
use crate::tensor::{Dims, Tensor, TensorView};
use crate::threads::Threads;
use crate::workspace::Workspace;
use bytes::Bytes;
use smallvec::SmallVec;
use std::time::{Duration, Instant};
use strait_core::{Elem, GraphId, Module, ValueId};
use strait_kernels::Context;
use strait_kernels::integer::{Order, reorder};

/// An input or output of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// The value in the graph.
    pub value: ValueId,
    /// The name in the source model.
    pub name: String,
    /// Element type.
    pub elem: Elem,
    /// Extents, outermost first. Axes that are listed in `open` have extent 0 here.
    pub shape: Vec<usize>,
    /// The axes whose extent depends on data.
    pub open: Vec<usize>,
}

/// A step of a plan, as profiles show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanStep<'a> {
    /// The name of the step's node. If several nodes were joined, it is the node that does most of the work.
    pub node: &'a str,
    /// The name of the node's op.
    pub op: &'static str,
    /// The number of multiply-adds, if the step is a convolution or a matrix product; 0 otherwise.
    pub multiply_adds: u64,
}

/// A graph that is prepared to run. A plan is immutable and can be shared between threads. See the crate's
/// documentation.
pub struct Plan {
    graph: GraphId,
    context: Context,
    steps: Vec<PlannedStep>,
    constants: Vec<Constant>,
    inputs: Vec<(Port, Storage)>,
    outputs: Vec<(Port, Storage)>,
    arena_bytes: usize,
    /// The number of owned tensors, which are values outside of the arena.
    owned: usize,
}

/// A callback that gets each value of a graph as soon as it is computed, and may return a tensor to replace the value.
pub(crate) type Replace<'r> = dyn FnMut(GraphId, ValueId, TensorView<'_>) -> Option<Tensor> + Send + 'r;

/// Where a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storage {
    Arena {
        offset: usize,
        bytes: usize,
    },
    Constant(usize),
    /// In an owned tensor, which is made outside of the arena during the run.
    Owned(usize),
}

/// A constant. Its bytes are used as they are if they are aligned for its type, and otherwise copied.
enum Constant {
    Shared(Bytes),
    Copied(AlignedBytes),
}

impl Constant {
    fn bytes(&self) -> &[u8] {
        match self {
            Constant::Shared(bytes) => bytes,
            Constant::Copied(bytes) => bytes.as_slice(),
        }
    }
}

/// A step, with the places of its operands and results.
struct PlannedStep {
    node: Box<str>,
    op: &'static str,
    multiply_adds: u64,
    work: Work,
    /// The number of results that the step writes.
    outputs: usize,
    operands: SmallVec<[Source; 3]>,
    /// The ranges of the arena that the step uses, ascending and disjoint.
    pieces: SmallVec<[Piece; 4]>,
    /// The results that observers see.
    results: SmallVec<[Shown; 1]>,
}

/// What a step computes.
enum Work {
    /// Nothing, because the result shares the bytes of its operand.
    Shares,
    Step(Box<dyn Step>),
    /// A node that runs on owned tensors, and where each operand is stored.
    Late(Box<Late>, Vec<Option<Shown>>),
}

/// Where a step finds the bytes of an operand.
#[derive(Clone, Copy)]
enum Source {
    Absent,
    InPlace,
    Constant(usize),
    /// In the arena, at the piece with this index in `pieces`.
    Piece(usize),
}

/// A range of the arena that a step reads or writes.
#[derive(Clone, Copy)]
struct Piece {
    offset: usize,
    bytes: usize,
    /// The index of the result that is written to this range; `None` if the range is only read.
    result: Option<usize>,
}

/// A value as observers see it. If the value is an owned tensor, its extents are those of the tensor.
#[derive(Clone)]
struct Shown {
    value: ValueId,
    elem: Elem,
    shape: Dims,
    place: Storage,
    /// True if the channels are last in memory.
    last: bool,
}

impl Shown {
    /// Copies the elements of a value from or to memory, where its channels are last. `orders` is the order of the elements
    /// that are read, and that of the elements that are written.
    fn reorder(
        &self,
        context: &Context,
        orders: impl FnOnce(Order) -> [Order; 2],
        from: &[u8],
        to: &mut [u8],
    ) -> Result<(), ExecuteError> {
        let [batch, channels, spatial @ ..] = &self.shape[..] else {
            return Err(ExecuteError::Ours(format!("{} has no channels", self.value)));
        };
        let extents = [*batch, *channels, spatial.iter().product()];
        let orders = orders(Order::Last { stride: *channels });
        reorder(context, extents, self.elem.size(), orders, from, to)
            .map_err(|error| ExecuteError::Ours(format!("{}: {error}", self.value)))
    }
}

impl Workspace {
    /// Allocates memory for one run of `plan` at a time.
    pub fn new(plan: &Plan, threads: &Threads) -> Workspace {
        Workspace::with_arena(plan.arena_bytes, threads)
    }
}

impl Plan {
    /// Plans a graph of a module.
    ///
    /// # Errors
    /// [`ExecuteError::Symbolic`] if a dimension of an input has no number; [`ExecuteError::Node`] if a node cannot be
    /// prepared.
    pub fn new(module: &Module, graph: GraphId, options: &PlanOptions<'_>) -> Result<Plan, ExecuteError> {
        build::build(module, graph, options, None)
    }

    /// Plans a graph that a node of another graph runs. `depth` is the number of graphs around it. The inputs of such a
    /// graph may have extents that are only known at run time.
    pub(crate) fn body(
        module: &Module,
        graph: GraphId,
        options: &PlanOptions<'_>,
        depth: usize,
    ) -> Result<Plan, ExecuteError> {
        build::build(module, graph, options, Some(depth))
    }

    /// Returns the inputs, in the order of the graph.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = &Port> {
        self.inputs.iter().map(|(port, _)| port)
    }

    /// Returns the outputs, in the order of the graph.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = &Port> {
        self.outputs.iter().map(|(port, _)| port)
    }

    /// Returns the size of the arena in bytes.
    pub fn arena_bytes(&self) -> usize {
        self.arena_bytes
    }

    /// Returns the values that a run shows to an observer, in the order in which they are computed. The inputs of the
    /// graph are not included here, but a run also shows them.
    pub fn shown(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.steps
            .iter()
            .flat_map(|step| &step.results)
            .map(|shown| shown.value)
    }

    /// Returns the number of steps that compute values of the graph. If nodes were joined, there are fewer of them than
    /// nodes. Steps that only copy a value in another order are not counted.
    pub fn step_count(&self) -> usize {
        self.steps.iter().filter(|step| !step.results.is_empty()).count()
    }

    /// Returns the steps, in the order in which they run.
    pub fn steps(&self) -> impl ExactSizeIterator<Item = PlanStep<'_>> {
        self.steps.iter().map(|step| PlanStep {
            node: &step.node,
            op: step.op,
            multiply_adds: step.multiply_adds,
        })
    }

    /// Like [`Plan::run`], and also writes how long each step took. `times` has one element for each of
    /// [`Plan::steps`].
    ///
    /// # Errors
    /// As for [`Plan::run`].
    pub fn run_timed(
        &self,
        workspace: &mut Workspace,
        inputs: &[TensorView<'_>],
        times: &mut [Duration],
    ) -> Result<Vec<Tensor>, ExecuteError> {
        self.check_inputs(inputs)?;
        let (arena, threads) = workspace.arena(self.arena_bytes)?;
        threads.run(|| self.run_steps(arena, inputs, (&mut |_, _, _| None, false), times))
    }

    /// Runs the graph once, on the threads of the workspace.
    ///
    /// # Errors
    /// [`ExecuteError::Input`] if an input does not fit; [`ExecuteError::Node`] if a node fails.
    pub fn run(&self, workspace: &mut Workspace, inputs: &[TensorView<'_>]) -> Result<Vec<Tensor>, ExecuteError> {
        self.run_timed(workspace, inputs, &mut [])
    }

    /// Like [`Plan::run`], but calls `observe` with each of the graph's inputs, and then with each value as soon as it
    /// is computed. Constants and values inside of a join are not shown.
    ///
    /// # Errors
    /// As for [`Plan::run`].
    pub fn run_observed(
        &self,
        workspace: &mut Workspace,
        inputs: &[TensorView<'_>],
        observe: &mut (dyn FnMut(ValueId, TensorView<'_>) + Send),
    ) -> Result<Vec<Tensor>, ExecuteError> {
        self.run_replacing(workspace, inputs, &mut |value, tensor| {
            observe(value, tensor);
            None
        })
    }

    /// Like [`Plan::run`], but `replace` may return a tensor that replaces a value as soon as a step has computed it.
    /// All later steps read that tensor. If the value is an output of the graph, the tensor is returned as that output.
    /// Inputs are not replaced.
    ///
    /// # Errors
    /// As for [`Plan::run`]. The call also fails if a tensor does not have the type and shape of the value that it
    /// replaces; this is a mistake of the caller.
    pub fn run_replacing(
        &self,
        workspace: &mut Workspace,
        inputs: &[TensorView<'_>],
        replace: &mut (dyn FnMut(ValueId, TensorView<'_>) -> Option<Tensor> + Send),
    ) -> Result<Vec<Tensor>, ExecuteError> {
        self.check_inputs(inputs)?;
        let (arena, threads) = workspace.arena(self.arena_bytes)?;
        let mut own = |graph: GraphId, value: ValueId, tensor: TensorView<'_>| match graph == self.graph {
            true => replace(value, tensor),
            false => None,
        };
        threads.run(|| self.run_steps(arena, inputs, (&mut own, true), &mut []))
    }

    /// Like [`Plan::run_observed`]. If nodes run other graphs, also calls `observe` with the values of these graphs,
    /// each time they run.
    ///
    /// # Errors
    /// As for [`Plan::run`].
    pub fn run_observed_inside(
        &self,
        workspace: &mut Workspace,
        inputs: &[TensorView<'_>],
        observe: &mut (dyn FnMut(GraphId, ValueId, TensorView<'_>) + Send),
    ) -> Result<Vec<Tensor>, ExecuteError> {
        self.check_inputs(inputs)?;
        let (arena, threads) = workspace.arena(self.arena_bytes)?;
        let mut all = |graph: GraphId, value: ValueId, tensor: TensorView<'_>| {
            observe(graph, value, tensor);
            None
        };
        threads.run(|| self.run_steps(arena, inputs, (&mut all, true), &mut []))
    }

    /// Runs the graph once as part of the run of another graph, on the same threads.
    pub(crate) fn run_inside(
        &self,
        inputs: &[TensorView<'_>],
        replace: &mut Replace<'_>,
    ) -> Result<Vec<Tensor>, ExecuteError> {
        self.check_inputs(inputs)?;
        let mut arena = AlignedBytes::zeroed(self.arena_bytes);
        self.run_steps(arena.as_mut_slice(), inputs, (replace, true), &mut [])
    }

    /// Runs all steps. If `observed` is false, `replace` is only called by steps that run other graphs.
    fn run_steps(
        &self,
        arena: &mut [u8],
        inputs: &[TensorView<'_>],
        (replace, observed): (&mut Replace<'_>, bool),
        times: &mut [Duration],
    ) -> Result<Vec<Tensor>, ExecuteError> {
        let mut times = times.iter_mut();
        let mut owned: Vec<Option<Tensor>> = vec![None; self.owned];
        for ((port, place), input) in self.inputs.iter().zip(inputs) {
            match *place {
                Storage::Arena { offset, bytes } => arena[offset..offset + bytes].copy_from_slice(input.bytes()),
                Storage::Owned(index) => owned[index] = Some(input.to_tensor()),
                Storage::Constant(_) => {}
            }
            replace(self.graph, port.value, *input);
        }
        for step in &self.steps {
            let time = times.next().map(|time| (time, Instant::now()));
            self.run_step(step, arena, &mut owned, replace)
                .map_err(|source| ExecuteError::Node {
                    node: step.node.to_string(),
                    op: step.op,
                    source,
                })?;
            if let Some((time, start)) = time {
                *time = start.elapsed();
            }
            for result in step.results.iter().filter(|_| observed) {
                let made = self.view(result, arena, &owned)?;
                let other = match result.last {
                    true => {
                        let mut planes = AlignedBytes::zeroed(made.bytes().len());
                        let orders = |last| [last, Order::Planes];
                        result.reorder(&self.context, orders, made.bytes(), planes.as_mut_slice())?;
                        let planes = TensorView::planned(result.elem, &result.shape, planes.as_slice());
                        replace(self.graph, result.value, planes)
                    }
                    false => replace(self.graph, result.value, made),
                };
                if let Some(other) = other {
                    put(&self.context, other, result, arena, &mut owned)?;
                }
            }
        }
        let output = |(port, place): &(Port, Storage)| {
            let shown = Shown {
                value: port.value,
                elem: port.elem,
                shape: port.shape[..].into(),
                place: *place,
                last: false,
            };
            Ok(self.view(&shown, arena, &owned)?.to_tensor())
        };
        self.outputs.iter().map(output).collect()
    }

    /// Returns the current content of a value.
    fn view<'a>(
        &'a self,
        shown: &'a Shown,
        arena: &'a [u8],
        owned: &'a [Option<Tensor>],
    ) -> Result<TensorView<'a>, ExecuteError> {
        let bytes = match shown.place {
            Storage::Arena { offset, bytes } => &arena[offset..offset + bytes],
            Storage::Constant(index) => self.constants[index].bytes(),
            Storage::Owned(index) => {
                let tensor = owned.get(index).and_then(Option::as_ref);
                let missing = || ExecuteError::Ours(format!("{} was not made", shown.value));
                return Ok(tensor.ok_or_else(missing)?.view());
            }
        };
        Ok(TensorView::planned(shown.elem, &shown.shape, bytes))
    }

    fn run_step(
        &self,
        planned: &PlannedStep,
        arena: &mut [u8],
        owned: &mut [Option<Tensor>],
        replace: &mut Replace<'_>,
    ) -> Result<(), StepError> {
        let step = match &planned.work {
            Work::Shares => return Ok(()),
            Work::Late(late, operands) => {
                return self.run_late(late, operands, &planned.results, (arena, owned), replace);
            }
            Work::Step(step) => step,
        };
        // Each piece has to be borrowed separately. The pieces are ascending and disjoint, so they are split off the
        // front of the arena one by one.
        let mut rest = arena;
        let mut position = 0;
        let mut reads: SmallVec<[&[u8]; 4]> = SmallVec::new();
        let mut writes: SmallVec<[Option<&mut [u8]>; 1]> = SmallVec::new();
        writes.resize_with(planned.outputs, || None);
        for piece in &planned.pieces {
            let (_, behind) = rest.split_at_mut(piece.offset - position);
            let (bytes, behind) = behind.split_at_mut(piece.bytes);
            position = piece.offset + piece.bytes;
            rest = behind;
            match piece.result {
                Some(result) => {
                    writes[result] = Some(bytes);
                    reads.push(&[]);
                }
                None => reads.push(bytes),
            }
        }
        let input = |source: &Source| match *source {
            Source::Absent => Input::Absent,
            Source::InPlace => Input::InPlace,
            Source::Constant(index) => Input::Bytes(self.constants[index].bytes()),
            Source::Piece(index) => Input::Bytes(reads[index]),
        };
        step.run(&mut Io {
            context: &self.context,
            inputs: planned.operands.iter().map(input).collect(),
            outputs: writes.into_iter().flatten().collect(),
        })
    }

    fn run_late(
        &self,
        late: &Late,
        operands: &[Option<Shown>],
        results: &[Shown],
        (arena, owned): (&mut [u8], &mut [Option<Tensor>]),
        replace: &mut Replace<'_>,
    ) -> Result<(), StepError> {
        let ours = |error: ExecuteError| StepError::Ours(error.to_string());
        let mut views = Vec::with_capacity(operands.len());
        for operand in operands {
            let view = operand.as_ref().map(|shown| self.view(shown, arena, owned));
            views.push(view.transpose().map_err(ours)?);
        }
        let made = late.run(&views, replace)?;
        for (result, tensor) in results.iter().zip(made) {
            put(&self.context, tensor, result, arena, owned).map_err(ours)?;
        }
        Ok(())
    }

    fn check_inputs(&self, inputs: &[TensorView<'_>]) -> Result<(), ExecuteError> {
        if inputs.len() != self.inputs.len() {
            return Err(ExecuteError::InputCount {
                expected: self.inputs.len(),
                found: inputs.len(),
            });
        }
        for ((port, _), input) in self.inputs.iter().zip(inputs) {
            let mut expected = port.shape.clone();
            for &axis in &port.open {
                if let (Some(expected), Some(&found)) = (expected.get_mut(axis), input.shape().get(axis)) {
                    *expected = found;
                }
            }
            inputs::check(|| port.name.clone(), port.elem, &expected, *input)?;
        }
        Ok(())
    }
}

/// Stores a tensor in the place of a result.
fn put(
    context: &Context,
    tensor: Tensor,
    result: &Shown,
    arena: &mut [u8],
    owned: &mut [Option<Tensor>],
) -> Result<(), ExecuteError> {
    let same = tensor.elem() == result.elem && tensor.shape().len() == result.shape.len();
    match result.place {
        Storage::Arena { offset, bytes } if same && tensor.shape() == &result.shape[..] => {
            let to = &mut arena[offset..offset + bytes];
            if result.last {
                return result.reorder(context, |last| [Order::Planes, last], tensor.view().bytes(), to);
            }
            to.copy_from_slice(tensor.view().bytes());
            Ok(())
        }
        Storage::Owned(index) if same => {
            owned[index] = Some(tensor);
            Ok(())
        }
        _ => Err(ExecuteError::Ours(format!(
            "{} cannot be replaced by another tensor",
            result.value
        ))),
    }
}
