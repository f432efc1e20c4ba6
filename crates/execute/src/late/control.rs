//! Runs `if` and `loop` nodes, which run other graphs.

use super::zeros::zeros;
use crate::error::ExecuteError;
use crate::options::PlanOptions;
use crate::plan::{Plan, Replace};
use crate::prelude::*;
use crate::tensor::{Tensor, TensorView};
use strait_core::op::Loop;
use strait_core::{Module, Op};

/// The largest depth of graphs within graphs.
const DEEPEST: usize = 32;

/// The largest number of runs of a loop body. This limit ends loops whose condition never becomes false.
const MOST_RUNS: u64 = 1 << 20;

/// The graphs that one node runs, each with a plan of its own.
pub(super) struct Bodies {
    plans: Vec<Plan>,
    /// For each graph, the types of its outputs, as the graph states them.
    outputs: Vec<Vec<TensorType>>,
}

impl Bodies {
    pub(super) fn new(
        module: &Module,
        op: &Op,
        options: &PlanOptions<'_>,
        depth: usize,
    ) -> Result<Bodies, ExecuteError> {
        if depth == DEEPEST {
            let text = format!("graphs name each other more than {DEEPEST} deep");
            return Err(ExecuteError::Ours(text));
        }
        let mut bodies = Bodies {
            plans: Vec::new(),
            outputs: Vec::new(),
        };
        for id in op.graphs() {
            bodies.plans.push(Plan::body(module, id, options, depth + 1)?);
            let graph = module.graph(id);
            let outputs = graph
                .into_iter()
                .flat_map(|graph| graph.outputs().iter().filter_map(|&v| graph.value(v)));
            bodies.outputs.push(outputs.map(|value| value.ty.clone()).collect());
        }
        Ok(bodies)
    }

    pub(super) fn run(
        &self,
        op: &Op,
        operands: &[Option<TensorView<'_>>],
        replace: &mut Replace<'_>,
    ) -> Result<Vec<Tensor>, StepError> {
        match (op, &self.plans[..], operands) {
            (Op::Call(_), [plan], inputs) => run(plan, inputs, replace),
            (Op::If(_), [then, other], [Some(condition), captured @ ..]) => {
                run(if truth(*condition)? { then } else { other }, captured, replace)
            }
            (Op::Loop(op), [body], operands) => self.repeat(op, body, operands, replace),
            _ => Err(StepError::Model("its operands are not those of its graphs".into())),
        }
    }

    fn repeat(
        &self,
        op: &Loop,
        body: &Plan,
        operands: &[Option<TensorView<'_>>],
        replace: &mut Replace<'_>,
    ) -> Result<Vec<Tensor>, StepError> {
        let operand = |index: usize| operands.get(index).copied().flatten();
        let carried = op.carried as usize;
        let rest = operands.get(Loop::BOUNDS..).unwrap_or_default();
        let (first, captured) = rest.split_at(carried.min(rest.len()));
        let mut state: Vec<Tensor> = first.iter().flatten().map(TensorView::to_tensor).collect();
        let most = match (u64::try_from(op.trips), operand(0)) {
            (Ok(trips), _) => Some(trips),
            (_, Some(most)) => Some(
                most.values::<i64>()?
                    .first()
                    .map_or(0, |&most| most.max(0).unsigned_abs()),
            ),
            _ => None,
        };
        let ends_early = op.trips < 0;
        let mut goes_on = match operand(1).filter(|_| ends_early) {
            Some(condition) => truth(condition)?,
            None => true,
        };
        let outputs = self.outputs.first().map_or(&[][..], Vec::as_slice);
        let stacked = outputs.get(1 + carried..).unwrap_or_default();
        let mut stacks: Vec<Vec<Tensor>> = stacked.iter().map(|_| Vec::new()).collect();
        let mut runs = 0u64;
        while goes_on && most.is_none_or(|most| runs < most) {
            if runs == MOST_RUNS {
                return Err(StepError::Model(format!(
                    "its body has run {MOST_RUNS} times without an end"
                )));
            }
            let number = Tensor::from_values(&[], &[runs as i64])?;
            let condition = Tensor::from_bytes(Elem::Bool, &[], &[1])?;
            let own = [Some(number.view()), Some(condition.view())];
            let inputs: Vec<Option<TensorView<'_>>> = own
                .into_iter()
                .chain(state.iter().map(|tensor| Some(tensor.view())))
                .chain(captured.iter().copied())
                .collect();
            let mut made = run(body, &inputs, replace)?.into_iter();
            let condition = made.next();
            let condition = condition.ok_or_else(|| StepError::Ours("a body has no condition".into()))?;
            goes_on = !ends_early || truth(condition.view())?;
            state = made.by_ref().take(carried).collect();
            for (stack, element) in stacks.iter_mut().zip(made) {
                stack.push(element);
            }
            runs += 1;
        }
        for (stack, ty) in stacks.iter().zip(stacked) {
            state.push(joined(stack, ty)?);
        }
        Ok(state)
    }
}

fn run(plan: &Plan, inputs: &[Option<TensorView<'_>>], replace: &mut Replace<'_>) -> Result<Vec<Tensor>, StepError> {
    let inputs: Option<Vec<TensorView<'_>>> = inputs.iter().copied().collect();
    let inputs = inputs.ok_or_else(|| StepError::Model("an input of a graph is absent".into()))?;
    plan.run_inside(&inputs, replace).map_err(|error| match error {
        ExecuteError::Ours(text) => StepError::Ours(text),
        other => StepError::Model(format!("inside of it, {other}")),
    })
}

fn truth(condition: TensorView<'_>) -> Result<bool, StepError> {
    match condition.bytes() {
        [byte] => Ok(*byte != 0),
        _ => Err(StepError::Model(format!(
            "the condition {condition:?} is not one truth value"
        ))),
    }
}

/// Stacks tensors with the same shape along a new first axis.
fn joined(stack: &[Tensor], ty: &TensorType) -> Result<Tensor, StepError> {
    // If there are no tensors to stack, each unknown extent is 0.
    let stated = || ty.shape.iter().map(|dim| dim.fixed().unwrap_or(0) as usize).collect();
    let inner: Vec<usize> = stack.first().map_or_else(stated, |first| first.shape().to_vec());
    if let Some(other) = stack.iter().find(|element| element.shape() != inner) {
        let text = format!("one run stacks {inner:?}, another {:?}", other.shape());
        return Err(StepError::Model(text));
    }
    let shape: Vec<usize> = std::iter::once(stack.len()).chain(inner).collect();
    let mut whole = zeros(ty.elem, &shape)?;
    let bytes = whole.bytes_mut();
    let each = bytes.len() / stack.len().max(1);
    for (part, element) in bytes.chunks_exact_mut(each.max(1)).zip(stack) {
        part.copy_from_slice(element.view().bytes());
    }
    Ok(whole)
}
