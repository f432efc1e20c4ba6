//! Models that are ready to run. A model is prepared once and can then be run often.

use std::{collections::BTreeMap, fmt, num::NonZeroUsize, sync::Arc};

use strait_core::{Module, Op, ValueId};
use strait_execute::{Demand, Plan, PlanOptions, Threads, Workspace, cost};

use crate::{Elem, Error, Limits, Tensor, TensorView};

/// The resources that a session may use. These options do not change any bit of a result.
///
/// ```
/// use std::num::NonZeroUsize;
/// use strait::{Limits, SessionOptions};
///
/// let options = SessionOptions {
///     threads: NonZeroUsize::new(4).unwrap(),
///     limits: Limits { memory: Some(1 << 30), ..Limits::default() },
/// };
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SessionOptions {
    /// Number of threads that compute.
    pub threads: NonZeroUsize,
    /// The most memory and operations that a run may use.
    pub limits: Limits,
}

impl Default for SessionOptions {
    /// One thread, any amount of memory, and a reasonable number of operations.
    fn default() -> Self {
        SessionOptions {
            threads: NonZeroUsize::MIN,
            limits: Limits::default(),
        }
    }
}

#[cfg(feature = "compile")]
impl SessionOptions {
    pub(crate) fn means(&self) -> strait_compile::Means<'static> {
        strait_compile::Means {
            threads: self.threads,
            limits: self.limits,
            options: PlanOptions::default(),
        }
    }
}

/// An input or an output of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Port {
    /// Name of the tensor in the model.
    pub name: String,
    /// Element type of the tensor.
    pub elem: Elem,
    /// Shape of the tensor, outermost dimension first. A dimension that depends on the data is 0.
    pub shape: Vec<usize>,
}

/// A model that is ready to run. To run it on another thread, clone the session. The clone shares the prepared model
/// and has memory of its own for a run.
///
/// ```
/// # #[cfg(all(feature = "onnx", feature = "generic-int8"))] {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits/digits.onnx");
/// # let image = strait::Tensor::new(&[1, 1, 8, 8], &[0.5f32; 64])?;
/// # let samples = strait::Samples::new([vec![image.clone()]]);
/// # let (model, target) = (strait::Model::open(path)?, strait::Target::named("generic-int8")?);
/// # let artifact = strait::compile(&model, &target, &samples, &strait::Rules::new())?;
/// let mut session = artifact.session()?;
/// let mut other = session.clone();
/// let [input] = &session.inputs()[..] else { panic!("the model has one input") };
/// let there = std::thread::spawn({
///     let (name, image) = (input.name.clone(), image.clone());
///     move || other.run(&[(&name, image.view())])
/// });
/// let here = session.run(&[(&input.name, image.view())])?;
/// assert_eq!(here["logits"].bytes(), there.join().unwrap()?["logits"].bytes());
/// # }
/// # Ok::<(), strait::Error>(())
/// ```
pub struct Session {
    plan: Arc<Plan>,
    threads: Threads,
    workspace: Workspace,
    gives: Gives,
}

/// What a session gives.
#[derive(Clone)]
enum Gives {
    /// The outputs of the model.
    Outputs,
    /// The codes in front of the outputs: the values that are given, with their types.
    Codes(Arc<[(ValueId, Elem)]>),
    /// What a second model computes from the outputs.
    #[cfg(feature = "onnx")]
    Behind(Box<Behind>),
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("inputs", &self.inputs())
            .field("outputs", &self.outputs())
            .finish_non_exhaustive()
    }
}

impl Clone for Session {
    fn clone(&self) -> Session {
        Session {
            plan: self.plan.clone(),
            threads: self.threads.clone(),
            workspace: Workspace::new(&self.plan, &self.threads),
            gives: self.gives.clone(),
        }
    }
}

/// The outputs of a run, by name.
pub type Outputs = BTreeMap<String, Tensor>;

impl Session {
    pub(crate) fn new(module: &Module, options: &SessionOptions) -> Result<Session, Error> {
        Session::planned(module, options, &PlanOptions::default(), Gives::Outputs)
    }

    /// A session that gives the codes in front of the outputs of `module`.
    pub(crate) fn of_codes(module: &Module, options: &SessionOptions) -> Result<Session, Error> {
        let graph = module.main();
        let code = |&output: &ValueId| {
            let dequantized = graph
                .producer(output)
                .filter(|(_, node)| matches!(node.op, Op::Dequantize(_)));
            let value = dequantized.and_then(|(_, node)| node.inputs.first().copied().flatten());
            let value = value.unwrap_or(output);
            Some((value, graph.value(value)?.ty.elem))
        };
        let codes: Option<Arc<[_]>> = graph.outputs().iter().map(code).collect();
        let codes = codes.ok_or_else(|| Error::defect("an output is no value"))?;
        // Every value has to be there.
        let plan = PlanOptions {
            join: false,
            ..PlanOptions::default()
        };
        Session::planned(module, options, &plan, Gives::Codes(codes))
    }

    fn planned(
        module: &Module,
        options: &SessionOptions,
        plan: &PlanOptions<'_>,
        gives: Gives,
    ) -> Result<Session, Error> {
        let demand = Demand::new(cost(module, module.main)?);
        options.limits.admit(&demand, options.threads)?;
        let plan = Plan::new(module, module.main, plan)?;
        let threads = Threads::new(options.threads);
        Ok(Session {
            workspace: Workspace::new(&plan, &threads),
            plan: Arc::new(plan),
            threads,
            gives,
        })
    }

    /// This session with the model `behind`, which reads the outputs of `module`, the model of this session.
    #[cfg(feature = "onnx")]
    pub(crate) fn followed_by(mut self, module: &Module, behind: Session) -> Result<Session, Error> {
        self.gives = Gives::Behind(Box::new(Behind::new(&self.outputs(), module, behind)?));
        Ok(self)
    }

    /// The inputs, in the order of the model.
    pub fn inputs(&self) -> Vec<Port> {
        self.plan.inputs().map(port).collect()
    }

    /// The outputs, in the order of the model.
    pub fn outputs(&self) -> Vec<Port> {
        let own = self.plan.outputs().map(port);
        match &self.gives {
            Gives::Outputs => own.collect(),
            Gives::Codes(codes) => own
                .zip(codes.iter())
                .map(|(port, &(_, elem))| Port { elem, ..port })
                .collect(),
            #[cfg(feature = "onnx")]
            Gives::Behind(behind) => behind.outputs(own),
        }
    }

    /// Runs the model on one sample. Each tensor is given with the name of its input.
    ///
    /// # Errors
    /// If a tensor is missing, is given twice, or does not fit its input; if no input has a given name; or if the run
    /// fails.
    pub fn run(&mut self, inputs: &[(&str, TensorView<'_>)]) -> Result<Outputs, Error> {
        let known = || self.plan.inputs().map(|port| port.name.as_str());
        if let Some((stranger, _)) = inputs.iter().find(|(name, _)| !known().any(|input| input == *name)) {
            let names: Vec<&str> = known().collect();
            let message = format!(
                "there is no input `{stranger}`; the inputs are `{}`",
                names.join("`, `")
            );
            return Err(Error::call(message));
        }
        let one = |name: &str| {
            let mut given = inputs.iter().filter(|(given, _)| *given == name);
            match (given.next(), given.next()) {
                (Some((_, view)), None) => Ok(view.0),
                (None, _) => Err(Error::call(format!("there is no tensor for the input `{name}`"))),
                (Some(_), Some(_)) => Err(Error::call(format!("there are two tensors for the input `{name}`"))),
            }
        };
        let views = known().map(one).collect::<Result<Vec<_>, Error>>()?;
        let names = self.plan.outputs().map(|port| port.name.clone());
        if let Gives::Codes(codes) = &self.gives {
            let mut seen: BTreeMap<ValueId, Tensor> = BTreeMap::new();
            let mut observe = |value: ValueId, tensor: strait_execute::TensorView<'_>| {
                if codes.iter().any(|&(code, _)| code == value) {
                    seen.insert(value, Tensor(tensor.to_tensor()));
                }
            };
            self.plan.run_observed(&mut self.workspace, &views, &mut observe)?;
            let codes = names.zip(codes.iter()).map(|(name, (value, _))| {
                let tensor = seen.get(value).cloned();
                let tensor = tensor.ok_or_else(|| Error::defect(format!("the codes of `{name}` were not seen")))?;
                Ok((name, tensor))
            });
            return codes.collect();
        }
        let results = self.plan.run(&mut self.workspace, &views)?;
        let outputs = names.zip(results.into_iter().map(Tensor));
        match &mut self.gives {
            #[cfg(feature = "onnx")]
            Gives::Behind(behind) => behind.run(outputs.collect()),
            _ => Ok(outputs.collect()),
        }
    }
}

/// A model that runs behind another one, and reads its outputs as real numbers. Outputs that it does not read are outputs of
/// both together.
#[cfg(feature = "onnx")]
#[derive(Clone)]
struct Behind {
    session: Session,
    front: Arc<[Front]>,
}

/// An output of the model in front.
#[cfg(feature = "onnx")]
struct Front {
    name: String,
    /// The grid of the output, if it is codes.
    grid: Option<Arc<strait_core::QuantParams>>,
    /// True if the model behind reads it.
    is_read: bool,
}

#[cfg(feature = "onnx")]
impl Behind {
    /// The model `session` behind `module`, whose outputs are `outputs`.
    fn new(outputs: &[Port], module: &Module, session: Session) -> Result<Behind, Error> {
        let reads: Vec<String> = session.inputs().into_iter().map(|port| port.name).collect();
        if let Some(stranger) = reads
            .iter()
            .find(|name| !outputs.iter().any(|port| port.name == **name))
        {
            return Err(Error::defect(format!(
                "what lies behind the cut reads `{stranger}`, which is no output of the model"
            )));
        }
        let graph = module.main();
        let front = outputs.iter().zip(graph.outputs()).map(|(port, &output)| {
            let codes = graph.value(output).filter(|value| value.ty.elem.int_type().is_some());
            Front {
                is_read: reads.contains(&port.name),
                name: port.name.clone(),
                grid: codes.and_then(|value| value.quant.clone()),
            }
        });
        Ok(Behind {
            front: front.collect(),
            session,
        })
    }

    fn is_kept(&self, name: &str) -> bool {
        self.front.iter().any(|front| front.name == name && !front.is_read)
    }

    /// The outputs of both models together. `own` are those of the model in front.
    fn outputs(&self, own: impl Iterator<Item = Port>) -> Vec<Port> {
        let kept = own.filter(|port| self.is_kept(&port.name));
        kept.chain(self.session.outputs()).collect()
    }

    /// Runs the model behind the outputs of the one in front.
    fn run(&mut self, mut outputs: Outputs) -> Result<Outputs, Error> {
        let read = || self.front.iter().filter(|front| front.is_read);
        for front in read() {
            let (Some(grid), Some(tensor)) = (&front.grid, outputs.get_mut(&front.name)) else {
                continue;
            };
            let codes = tensor.0.to_data().map_err(Error::defect)?;
            let reals = grid.reals(&codes).map_err(Error::defect)?;
            let reals = reals.ok_or_else(|| Error::defect(format!("`{}` does not fit its grid", front.name)))?;
            let shape = tensor.shape().to_vec();
            *tensor = Tensor::new(&shape, &reals)?;
        }
        let views: Vec<(&str, TensorView<'_>)> = read()
            .filter_map(|front| Some((front.name.as_str(), outputs.get(&front.name)?.view())))
            .collect();
        let made = self.session.run(&views)?;
        outputs.retain(|name, _| self.front.iter().any(|front| front.name == *name && !front.is_read));
        outputs.extend(made);
        Ok(outputs)
    }
}

fn port(port: &strait_execute::Port) -> Port {
    Port {
        name: port.name.clone(),
        elem: port.elem,
        shape: port.shape.clone(),
    }
}
