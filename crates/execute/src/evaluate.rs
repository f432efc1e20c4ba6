//! One op on constants.

use crate::{ExecuteError, Plan, PlanOptions, Threads, Workspace};
use std::sync::OnceLock;
use strait_core::{Graph, Module, Names, Op, Reason, Stage, TensorData, TensorType};

/// The results of `op` on `operands`, by the executor that would run it in a graph. For folding constants and for tables.
///
/// # Errors
/// Operands that do not fit the op, and whatever stops a run.
pub fn evaluate(op: &Op, operands: &[Option<&TensorData>]) -> Result<Vec<TensorData>, ExecuteError> {
    let ours = |reason: Reason| ExecuteError::Ours(reason.to_string());
    let mut names = Names::default();
    let mut module = Module::new(Graph::new(names.intern("constant"), Stage::Float), names);
    let mut inputs = Vec::new();
    for (index, operand) in operands.iter().enumerate() {
        inputs.push(operand.map(|tensor| {
            let (name, data) = (
                module.names.intern(&format!("operand{index}")),
                module.add_data(tensor.clone()),
            );
            module.main_mut().add_data(name, tensor.tensor_type(), None, data)
        }));
    }
    let types: Vec<Option<TensorType>> = operands.iter().map(|t| t.map(TensorData::tensor_type)).collect();
    let types: Vec<Option<&TensorType>> = types.iter().map(Option::as_ref).collect();
    let results = module.result_types(op, &types, None).map_err(ours)?;
    let results = results
        .into_iter()
        .enumerate()
        .map(|(i, ty)| (module.names.intern(&format!("result{i}")), ty, None))
        .collect();
    let name = module.names.intern("node");
    let main = module.main_mut();
    let id = main.add_node(name, op.clone(), &inputs, results);
    for output in main.node(id).map(|n| n.outputs.clone()).unwrap_or_default() {
        main.add_output(output);
    }
    let plan = Plan::new(&module, module.main, &PlanOptions::default())?;
    let mut workspace = Workspace::new(&plan, one_thread()?);
    let tensors = plan.run(&mut workspace, &[])?;
    tensors
        .iter()
        .map(|t| t.to_data().map_err(|error| ExecuteError::Ours(error.to_string())))
        .collect()
}

/// One thread for all of them, as most are over sooner than a thread is started.
fn one_thread() -> Result<&'static Threads, ExecuteError> {
    static ONE: OnceLock<Threads> = OnceLock::new();
    if let Some(threads) = ONE.get() {
        return Ok(threads);
    }
    let threads = Threads::one()?;
    Ok(ONE.get_or_init(|| threads))
}
