//! Graphs for tests, built op by op.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod numbers;
pub mod random;

use std::num::NonZeroUsize;
use std::sync::Arc;
use strait_core::tensor::Element;
use strait_core::{
    Elem, Fused, Graph, Module, Names, Op, Placement, QuantParams, Stage, Symbol, TensorData, TensorType, ValueId,
};
use strait_execute::{ExecuteError, Plan, PlanOptions, Tensor, TensorView, Threads, Workspace};
use strait_kernels::{Context, Isa};

/// Builds one graph; types follow from inference.
pub struct Builder {
    pub module: Module,
    counter: usize,
}

impl Builder {
    pub fn new(stage: Stage) -> Builder {
        let mut names = Names::default();
        let graph = Graph::new(names.intern("main"), stage);
        Builder {
            module: Module::new(graph, names),
            counter: 0,
        }
    }

    fn name(&mut self, kind: &str) -> Symbol {
        self.counter += 1;
        self.module.names.intern(&format!("{kind}{}", self.counter))
    }

    pub fn input(&mut self, elem: Elem, dims: &[u64]) -> ValueId {
        let name = self.name("input");
        self.module
            .main_mut()
            .add_input(name, TensorType::fixed(elem, dims), None)
    }

    pub fn constant<T: Element>(&mut self, dims: &[u64], values: &[T]) -> ValueId {
        self.data(TensorData::from_values(dims, values).unwrap())
    }

    pub fn integers(&mut self, elem: Elem, dims: &[u64], values: &[i64]) -> ValueId {
        self.data(TensorData::from_integers(elem, dims, values).unwrap())
    }

    fn data(&mut self, tensor: TensorData) -> ValueId {
        let (name, ty) = (self.name("constant"), tensor.tensor_type());
        let data = self.module.add_data(tensor);
        self.module.main_mut().add_data(name, ty, None, data)
    }

    pub fn quant(&mut self, value: ValueId, quant: QuantParams) {
        self.module.main_mut().set_quant(value, Some(Arc::new(quant)));
    }

    pub fn op(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        self.results(op, inputs, None)[0]
    }

    pub fn fused(&mut self, op: impl Into<Op>, inputs: &[ValueId], fused: Fused) -> ValueId {
        self.results(op, inputs, Some(fused))[0]
    }

    pub fn results(&mut self, op: impl Into<Op>, inputs: &[ValueId], fused: Option<Fused>) -> Vec<ValueId> {
        let op = op.into();
        let operands: Vec<_> = inputs
            .iter()
            .map(|&v| self.module.main().value(v).map(|v| &v.ty))
            .collect();
        let types = self.module.result_types(&op, &operands, fused.as_ref()).unwrap();
        let name = self.name(op.name());
        let results = types
            .into_iter()
            .map(|ty| (self.module.names.fresh("value"), ty, None))
            .collect();
        let inputs: Vec<_> = inputs.iter().map(|&v| Some(v)).collect();
        let graph = self.module.main_mut();
        let node = graph.add_node(name, op, &inputs, results);
        graph.set_fused(node, fused, Placement::Accelerator);
        graph.node(node).unwrap().outputs.to_vec()
    }

    pub fn output(mut self, values: &[ValueId]) -> Module {
        for &value in values {
            // An integer output of a graph needs a grid.
            let graph = self.module.main();
            let bare = graph
                .value(value)
                .is_some_and(|v| v.ty.elem.int_type().is_some() && v.quant.is_none());
            if bare {
                self.quant(value, QuantParams::tensor(1.0, 0));
            }
            self.module.main_mut().add_output(value);
        }
        strait_core::verifier::verify(&self.module).unwrap();
        self.module
    }
}

pub fn options(isa: Isa) -> PlanOptions<'static> {
    PlanOptions {
        context: Context::with_isa(isa),
        ..PlanOptions::default()
    }
}

pub fn threads(count: usize) -> Threads {
    Threads::new(NonZeroUsize::new(count).unwrap())
}

/// Plans and runs the main graph.
pub fn run_with(
    module: &Module,
    inputs: &[Tensor],
    options: &PlanOptions<'_>,
    count: usize,
) -> Result<Vec<Tensor>, ExecuteError> {
    let plan = Plan::new(module, module.main, options)?;
    let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
    plan.run(&mut Workspace::new(&plan, &threads(count)), &views)
}

pub fn run(module: &Module, inputs: &[Tensor]) -> Vec<Tensor> {
    run_with(module, inputs, &PlanOptions::default(), 1).unwrap()
}

/// Runs one float operator on float inputs, and returns the values of its result.
pub fn float_op(op: impl Into<Op>, inputs: &[(&[u64], &[f32])]) -> Vec<f32> {
    let mut builder = Builder::new(Stage::Float);
    let values: Vec<_> = inputs.iter().map(|(dims, _)| builder.input(Elem::F32, dims)).collect();
    let result = builder.op(op, &values);
    let tensors: Vec<_> = inputs
        .iter()
        .map(|(dims, values)| {
            Tensor::from_values(&dims.iter().map(|&d| d as usize).collect::<Vec<_>>(), values).unwrap()
        })
        .collect();
    run(&builder.output(&[result]), &tensors)[0]
        .values::<f32>()
        .unwrap()
        .to_vec()
}
