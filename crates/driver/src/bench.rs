//! Measures how fast an artifact runs on this machine.

use std::{
    fmt,
    time::{Duration, Instant},
};

use serde::Serialize;
use strait_core::Elem;
use strait_execute::{Plan, Tensor, TensorView, Threads, Workspace};
use strait_kernels::integer::multiply_adds_per_second;

use crate::{
    artifact::{self, Opened},
    evaluation::Side,
    session::Session,
    shown::Shown,
    stop::Stop,
    table,
};

/// The smallest number of runs that are measured, however long they take.
const FEWEST: usize = 5;

/// An artifact that is ready to be measured, with a sample of random numbers.
pub struct Bench {
    plan: Plan,
    space: Workspace,
    threads: usize,
    inputs: Vec<Tensor>,
}

/// How fast an artifact runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Speed {
    /// The instruction set.
    pub isa: &'static str,
    /// The number of threads that compute one sample.
    pub threads: usize,
    /// The number of runs that were measured.
    pub runs: usize,
    /// The shortest run, in milliseconds.
    pub min_ms: f64,
    /// The median of all runs, in milliseconds.
    pub median_ms: f64,
    /// The number of multiply-adds of convolutions and matrix products in a run.
    pub multiply_adds: u64,
    /// Multiply-adds a second in a run of median length, in 10⁹.
    pub gmacs: f64,
    /// The most multiply-adds of bytes a second that these threads can compute, in 10⁹.
    pub limit_gmacs: f64,
    /// The steps, in the order in which they run. Empty if they were not measured.
    pub steps: Vec<StepSpeed>,
}

/// How fast one step runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepSpeed {
    /// The name of the node, or the name of the op in a sum over all steps of this op.
    pub node: String,
    /// The name of the op.
    pub op: String,
    /// The median of all runs, in milliseconds.
    pub median_ms: f64,
    /// The number of multiply-adds, if the step is a convolution or a matrix product.
    pub multiply_adds: u64,
}

impl Bench {
    /// Prepares an opened artifact for runs of one sample, which all threads of the session compute together. The
    /// inputs are random numbers from -1 to 1, or zeros if the model does not take floats.
    ///
    /// # Errors
    /// If the graph cannot be run, needs more than the limits allow, or has an input whose extents are not fixed.
    pub fn new(opened: &Opened, session: &Session<'_>) -> Result<Bench, Stop> {
        let Side { plan, .. } = artifact::plan(opened, session, true)?;
        let threads = Threads::new(session.threads);
        let mut random = Random(1);
        let inputs = plan.inputs().map(|port| match port.elem {
            Elem::F32 => {
                let count: usize = port.shape.iter().product();
                let values: Vec<f32> = (0..count).map(|_| random.next()).collect();
                Tensor::from_values(&port.shape, &values)
            }
            elem => Tensor::zeros(elem, &port.shape),
        });
        let inputs = inputs.collect::<Result<_, _>>();
        Ok(Bench {
            inputs: inputs.map_err(|error| Stop::Defect(error.to_string()))?,
            space: Workspace::new(&plan, &threads),
            threads: threads.count(),
            plan,
        })
    }

    /// Runs the model once, and returns how long it took.
    ///
    /// # Errors
    /// If the run fails.
    pub fn run(&mut self) -> Result<Duration, Stop> {
        self.timed(&mut [])
    }

    fn timed(&mut self, steps: &mut [Duration]) -> Result<Duration, Stop> {
        let views: Vec<TensorView<'_>> = self.inputs.iter().map(Tensor::view).collect();
        let start = Instant::now();
        self.plan.run_timed(&mut self.space, &views, steps)?;
        Ok(start.elapsed())
    }

    /// Runs the model as often as it fits in `time`. If `profile` is set, also measures each step.
    ///
    /// # Errors
    /// If a run fails, or the user interrupts.
    pub fn measure(&mut self, time: Duration, profile: bool, session: &Session<'_>) -> Result<Speed, Stop> {
        // The first run is slower than the others.
        self.run()?;
        let count = if profile { self.plan.steps().len() } else { 0 };
        let (mut runs, mut steps) = (Vec::new(), vec![Vec::new(); count]);
        session.phase("bench", None, |done| {
            let start = Instant::now();
            while runs.len() < FEWEST || start.elapsed() < time {
                let mut times = vec![Duration::ZERO; count];
                runs.push(self.timed(&mut times)?);
                steps.iter_mut().zip(times).for_each(|(all, time)| all.push(time));
                if done(runs.len()).is_break() {
                    return Err(Stop::Interrupted);
                }
            }
            Ok(())
        })?;
        let min = runs.iter().min().copied().unwrap_or_default();
        let median_ms = median(&mut runs);
        let multiply_adds = self.plan.steps().map(|step| step.multiply_adds).sum();
        let steps = self.plan.steps().zip(&mut steps).map(|(step, times)| StepSpeed {
            node: step.node.to_owned(),
            op: step.op.to_owned(),
            median_ms: median(times),
            multiply_adds: step.multiply_adds,
        });
        Ok(Speed {
            isa: session.context.isa().name(),
            threads: self.threads,
            runs: runs.len(),
            min_ms: milliseconds(min),
            median_ms,
            multiply_adds,
            gmacs: gmacs(multiply_adds, median_ms),
            limit_gmacs: self.threads as f64 * multiply_adds_per_second(&session.context) / 1e9,
            steps: steps.collect(),
        })
    }
}

/// A duration in milliseconds.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().map_or(0.0, milliseconds)
}

fn gmacs(multiply_adds: u64, ms: f64) -> f64 {
    if ms > 0.0 { multiply_adds as f64 / ms / 1e6 } else { 0.0 }
}

/// A sequence of numbers from -1 to 1 that are as good as random (a linear congruential generator).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

impl Speed {
    /// The sums over all steps of each op, the slowest first.
    fn by_op(&self) -> Vec<StepSpeed> {
        let mut sums: Vec<StepSpeed> = Vec::new();
        for step in &self.steps {
            match sums.iter_mut().find(|sum| sum.op == step.op) {
                Some(sum) => {
                    sum.median_ms += step.median_ms;
                    sum.multiply_adds += step.multiply_adds;
                }
                None => sums.push(StepSpeed {
                    node: String::new(),
                    ..step.clone()
                }),
            }
        }
        sums.sort_by(|a, b| b.median_ms.total_cmp(&a.median_ms));
        sums
    }

    fn rows<'a>(&'a self, heading: &str, steps: &'a [StepSpeed]) -> impl Iterator<Item = [String; 5]> {
        let heading = ["ms", "GMAC/s", "limit", "op", heading].map(str::to_owned);
        let row = |step: &StepSpeed| {
            let rate = gmacs(step.multiply_adds, step.median_ms);
            let known = step.multiply_adds > 0;
            let cell = |text: String| if known { text } else { String::new() };
            [
                format!("{:.3}", step.median_ms),
                cell(format!("{rate:.1}")),
                cell(format!("{:.0}%", 100.0 * rate / self.limit_gmacs)),
                step.op.clone(),
                step.node.clone(),
            ]
        };
        std::iter::once(heading).chain(steps.iter().map(row))
    }
}

impl fmt::Display for Shown<'_, Speed> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(speed) = self;
        let (runs, threads) = (table::count(speed.runs, "run"), table::count(speed.threads, "thread"));
        writeln!(
            f,
            "latency {:.3} ms (median of {runs}), {:.3} ms at best, on {threads}, {}",
            speed.median_ms, speed.min_ms, speed.isa
        )?;
        writeln!(
            f,
            "{:.1} GMAC/s, {:.0}% of the {:.0} GMAC/s that products of bytes can reach here",
            speed.gmacs,
            100.0 * speed.gmacs / speed.limit_gmacs,
            speed.limit_gmacs
        )?;
        if !speed.steps.is_empty() {
            writeln!(f)?;
            table::write(f, speed.rows("node", &speed.steps))?;
            writeln!(f)?;
            table::write(f, speed.rows("", &speed.by_op()))?;
        }
        Ok(())
    }
}
