//! Runs models on samples. Each metric takes notes of the outputs, and computes its result from these notes at the end.

use std::borrow::Cow;

use strait_core::{Bodies, Elem, Module, QuantParams, Value};
use strait_evaluate::{EvaluateError, EvaluatedSample, Note, Output};
use strait_execute::{Pass, Plan, PlanOptions, Tensor, TensorView, Threads, Workspace, cost};
use strait_samples::{Sample, Samples, Scratch};

use crate::{failure, limits::Demand, session::Session, stop::Stop};

use super::{
    dump::Dump,
    set::Judge,
    tail::{Behind, Tail},
};

/// A graph that is ready to run.
pub struct Side {
    pub(crate) plan: Plan,
    pub(crate) demand: Demand,
    /// For each output, its scale and zero point. Only set if a quantized model computes codes for the output.
    grids: Vec<Option<QuantParams>>,
    /// What runs behind the graph, and reads its outputs as real numbers.
    behind: Option<Behind>,
}

/// The memory for the runs of a [`Side`].
pub(crate) struct Spaces {
    own: Workspace,
    behind: Option<Workspace>,
}

impl Side {
    /// Prepares the main graph of a module, after checking that a run fits the limits.
    ///
    /// # Errors
    /// If the graph cannot be run, or needs more than the limits allow.
    pub fn new(module: &Module, options: &PlanOptions<'_>, session: &Session<'_>) -> Result<Side, Stop> {
        let demand = demand(module, session)?;
        let plan = Plan::new(module, module.main, options)?;
        Ok(Side::planned(module, plan, demand))
    }

    /// The same for a graph whose plan was already made.
    ///
    /// # Errors
    /// If the graph needs more than the limits allow.
    pub(crate) fn of_plan(module: &Module, plan: Plan, session: &Session<'_>) -> Result<Side, Stop> {
        Ok(Side::planned(module, plan, demand(module, session)?))
    }

    fn planned(module: &Module, plan: Plan, demand: Demand) -> Side {
        let graph = module.main();
        let outputs = graph.outputs().iter().take(plan.outputs().len());
        let grids = outputs.map(|&id| graph.value(id).and_then(grid).cloned());
        Side {
            grids: grids.collect(),
            plan,
            demand,
            behind: None,
        }
    }

    /// The same model with what lies behind the outputs at which it was cut, if there is such a tail.
    ///
    /// # Errors
    /// As for [`Tail::behind`].
    pub(crate) fn followed_by(self, tail: Option<&Tail>, session: &Session<'_>) -> Result<Side, Stop> {
        let names: Vec<String> = self.plan.outputs().map(|port| port.name.clone()).collect();
        self.followed_as(tail, &names, session)
    }

    /// Like [`Side::followed_by`], for a stage of a compilation whose outputs do not have their names yet: `names` are those of
    /// the float model, in the same order.
    ///
    /// # Errors
    /// As for [`Tail::behind`].
    pub(crate) fn followed_as(
        mut self,
        tail: Option<&Tail>,
        names: &[String],
        session: &Session<'_>,
    ) -> Result<Side, Stop> {
        if let Some(tail) = tail {
            let behind = tail.behind(names, session)?;
            self.demand = self.demand.beside(behind.demand.clone());
            self.behind = Some(behind);
        }
        Ok(self)
    }

    /// The plan whose outputs are those of the whole model.
    pub(crate) fn last(&self) -> &Plan {
        self.behind.as_ref().map_or(&self.plan, |behind| &behind.plan)
    }

    pub(crate) fn spaces(&self) -> Spaces {
        let space = |plan| Workspace::new(plan, &Threads::one());
        Spaces {
            own: space(&self.plan),
            behind: self.behind.as_ref().map(|behind| space(&behind.plan)),
        }
    }

    /// Runs the model on a sample, and its tail if it has one. `index` is the number of the sample, for errors.
    pub(crate) fn run(&self, spaces: &mut Spaces, views: &[TensorView<'_>], index: usize) -> Result<Vec<Tensor>, Stop> {
        let failed = |error| failure::execute_sample(error, index);
        let ran = self.plan.run(&mut spaces.own, views).map_err(failed)?;
        let (Some(behind), Some(space)) = (&self.behind, &mut spaces.behind) else {
            return Ok(ran);
        };
        let reals = self.reals(ran)?;
        let views: Option<Vec<TensorView<'_>>> =
            behind.reads.iter().map(|&at| reals.get(at).map(Tensor::view)).collect();
        let views = views.ok_or_else(|| Stop::Defect("an output is lost".into()))?;
        behind.plan.run(space, &views).map_err(failed)
    }

    /// Describes the outputs for metrics, in the order of the graph. An output of codes is described as an output of
    /// real numbers.
    pub(crate) fn outputs(&self) -> Vec<Output> {
        let mut outputs = self.written();
        if self.behind.is_some() {
            return outputs;
        }
        for (output, _) in outputs.iter_mut().zip(&self.grids).filter(|(_, grid)| grid.is_some()) {
            output.elem = Elem::F32;
        }
        outputs
    }

    /// Describes the outputs as a run writes them: as codes if the model computes codes.
    fn written(&self) -> Vec<Output> {
        let output = |port: &strait_execute::Port| Output {
            name: port.name.clone(),
            elem: port.elem,
            shape: port.shape.clone(),
        };
        self.last().outputs().map(output).collect()
    }

    /// Converts the outputs of a run for the metrics: codes become real numbers.
    pub(crate) fn judged(&self, left: Vec<Tensor>) -> Result<Vec<Tensor>, Stop> {
        match self.behind {
            Some(_) => Ok(left),
            None => self.reals(left),
        }
    }

    /// The graph's own outputs, with real numbers in place of codes.
    fn reals(&self, mut left: Vec<Tensor>) -> Result<Vec<Tensor>, Stop> {
        for (tensor, grid) in left.iter_mut().zip(&self.grids) {
            let Some(grid) = grid else { continue };
            let defect = || Stop::Defect("an output does not fit its grid".into());
            let numbers = on_grid(grid, tensor.view()).ok_or_else(defect)?;
            *tensor = Tensor::from_values(tensor.shape(), &numbers).map_err(|error| Stop::Defect(error.to_string()))?;
        }
        Ok(left)
    }
}

/// What a run of the main graph needs, after checking that it fits the limits.
pub(crate) fn demand(module: &Module, session: &Session<'_>) -> Result<Demand, Stop> {
    let demand = Demand::new(cost(module, module.main)?);
    session.admit(&demand, 1)?;
    Ok(demand)
}

/// Prepares the module for a run: moves bodies of control flow that are inlined in its main graph back into graphs of
/// their own.
pub(crate) fn whole_of<'m>(bodies: &Bodies, module: &'m Module) -> Result<Cow<'m, Module>, Stop> {
    bodies.whole(module).map_err(|error| Stop::Defect(error.to_string()))
}

/// The scale and zero point of a value of integers; `None` if it has no scale.
pub(crate) fn grid(value: &Value) -> Option<&QuantParams> {
    value.ty.elem.int_type()?;
    value.quant.as_deref()
}

/// The real numbers that a value stands for; `None` for integers without a scale.
pub(crate) fn reals(value: &Value, tensor: TensorView<'_>) -> Option<Vec<f32>> {
    match tensor.values::<f32>() {
        Ok(numbers) => Some(numbers.to_vec()),
        Err(_) => on_grid(value.quant.as_deref()?, tensor),
    }
}

/// Converts codes to real numbers.
fn on_grid(grid: &QuantParams, tensor: TensorView<'_>) -> Option<Vec<f32>> {
    grid.reals(&tensor.to_tensor().to_data().ok()?).ok().flatten()
}

/// Converts a sample to the views of tensors that a run takes.
pub(crate) fn views(sample: &[Sample]) -> Result<Vec<TensorView<'_>>, Stop> {
    let views: Result<_, _> = (sample.iter())
        .map(|one| TensorView::new(one.elem(), one.shape(), one.bytes()))
        .collect();
    views.map_err(|error| Stop::Defect(error.to_string()))
}

/// Runs a model on all samples in order, as a phase of the session. Each metric takes notes of the outputs, and these
/// notes are returned. Metrics that a command computes come last, because the command gets a file with the outputs on
/// all samples. `beside` contains the float model and the simulation, if there are any. Both run on the same samples if
/// a metric compares the model's outputs with their outputs.
///
/// # Errors
/// If samples cannot be used, a run fails, a metric cannot judge an output, or the user interrupts.
pub(crate) fn notes(
    side: &Side,
    beside: [Option<&Side>; 2],
    judges: &[Judge],
    samples: &Samples,
    session: &Session<'_>,
    phase: &str,
) -> Result<Vec<Vec<Note>>, Stop> {
    let commands = judges.iter().any(|judge| judge.command.is_some());
    let compares = judges.iter().any(|judge| judge.measure.meter.compares());
    let beside = beside.map(|other| other.filter(|_| compares));
    let sides: Vec<&Side> = std::iter::once(side).chain(beside.into_iter().flatten()).collect();
    let others = sides.iter().skip(1);
    let demand = others.fold(side.demand.clone(), |demand, other| demand.beside(other.demand.clone()));
    let threads = session.admit(&demand, samples.count())?;
    let worker = || {
        let spaces: Vec<Spaces> = sides.iter().map(|side| side.spaces()).collect();
        Ok((spaces, Scratch::default()))
    };
    let work = |(spaces, scratch): &mut (Vec<Spaces>, Scratch), index: usize| {
        let sample = samples.sample(index, scratch).map_err(failure::data)?;
        let views = views(&sample)?;
        let mut runs: Vec<Vec<Tensor>> = Vec::with_capacity(sides.len());
        // Commands get the outputs as the model writes them, without conversion to real numbers.
        let mut left = None;
        for (side, space) in sides.iter().zip(spaces) {
            let ran = side.run(space, &views, index)?;
            if runs.is_empty() {
                left = commands.then(|| ran.clone());
            }
            runs.push(side.judged(ran)?);
        }
        let mut seen = runs.iter().map(Vec::as_slice);
        let seen = EvaluatedSample {
            sample: index,
            inputs: &sample,
            outputs: seen.next().unwrap_or_default(),
            beside: beside.map(|other| other.and_then(|_| seen.next())),
        };
        let notes = judges.iter().map(|judge| judge.measure.meter.note(&seen));
        let notes = notes.collect::<Result<Vec<Note>, EvaluateError>>()?;
        Ok::<_, Stop>((notes, left))
    };
    let mut dump = commands
        .then(|| Dump::create(&side.written(), samples.count()))
        .transpose()?;
    let mut notes = session.phase(phase, Some(samples.count()), |done| {
        let mut notes: Vec<Vec<Note>> = judges.iter().map(|_| Vec::with_capacity(samples.count())).collect();
        let sink = |index: usize, (found, outputs): (Vec<Note>, Option<Vec<Tensor>>)| {
            for (notes, note) in notes.iter_mut().zip(found) {
                notes.push(note);
            }
            if let (Some(dump), Some(outputs)) = (&mut dump, outputs) {
                dump.append(&outputs)?;
            }
            Ok(done(index + 1))
        };
        let pass = Pass {
            exchange: session.exchange(),
            name: phase,
            count: samples.count(),
            threads,
        };
        let ran = pass.map(worker, work, sink);
        ran.map_err(|error| error.or(Stop::Interrupted))?;
        Ok(notes)
    })?;
    if let Some(dump) = dump {
        let dumped = dump.finish()?;
        for (judge, notes) in judges.iter().zip(&mut notes) {
            if let Some(command) = &judge.command {
                let printed = command.run(&dumped.file(), session, phase)?;
                let noted = judge.measure.meter.printed(&printed);
                *notes = noted.map_err(|error| command.refused(error))?;
            }
        }
    }
    Ok(notes)
}
