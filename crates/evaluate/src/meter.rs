//! Metrics that are built up sample by sample: what each notes down of a sample, and what it makes of the notes.
//!
//! A model runs over the samples once. Of each sample a metric keeps a note that is small and does not grow with the
//! outputs' size: a truth value, a number, counts for each class. The float model's notes serve every target. Only metrics
//! that compare outputs number by number need another model beside the one at hand. Sums of floats run in the order of a
//! tensor's numbers, and then in the order of the samples.

use strait_core::Elem;
use strait_execute::Tensor;
use strait_samples::Sample;

use crate::{
    accuracy::{Accuracy, Change, Figure, Measured, PartFigure, Unit},
    answers::Answer,
    error::EvaluateError,
    metrics::Claim,
    words::Better,
};

/// An output of the model, as metrics know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// The type of its numbers.
    pub elem: Elem,
    /// Its extents, 0 where data decides.
    pub shape: Vec<usize>,
}

impl Output {
    /// The numbers of one sample.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }
}

/// One sample, and what models make of it.
pub struct Seen<'a> {
    /// Its position in the set, from 0 on.
    pub sample: usize,
    /// The inputs behind the preprocessing.
    pub inputs: &'a [Sample],
    /// The outputs of the model at hand.
    pub outputs: &'a [Tensor],
    /// Those of the float model and of the simulation, for a metric that compares.
    pub beside: [Option<&'a [Tensor]>; 2],
}

impl<'a> Seen<'a> {
    /// An output of the model at hand.
    ///
    /// # Errors
    /// One that is not there: a defect.
    pub fn output(&self, index: usize) -> Result<&'a Tensor, EvaluateError> {
        (self.outputs.get(index)).ok_or_else(|| EvaluateError::Defect("a run has fewer outputs than its plan".into()))
    }

    /// The numbers of an output as floats, none of which is NaN; of integers and truth values the numbers themselves.
    ///
    /// # Errors
    /// NaN, and an output that is not there.
    pub fn numbers(&self, index: usize, name: &str) -> Result<Vec<f32>, EvaluateError> {
        let numbers = floats(self.output(index)?)?;
        match numbers.iter().position(|x| x.is_nan()) {
            None => Ok(numbers),
            Some(at) => {
                let message = format!(
                    "the output {name:?} holds NaN at {at}: sample {} cannot be judged",
                    self.sample
                );
                Err(EvaluateError::not_finite(message).help("look at the model, or leave the sample out"))
            }
        }
    }
}

/// The numbers of a tensor of any type as float32.
///
/// # Errors
/// A tensor whose type is not what it says: a defect.
pub fn floats(tensor: &Tensor) -> Result<Vec<f32>, EvaluateError> {
    if tensor.elem() == Elem::F32 {
        return Ok(tensor.values::<f32>()?.to_vec());
    }
    let data = tensor.to_data()?;
    if tensor.elem().is_float() {
        return Ok(data.to_f32()?.into_owned());
    }
    Ok(data.to_i64()?.iter().map(|&x| x as f32).collect())
}

/// A metric's note of one sample.
#[derive(Clone, Debug)]
pub enum Note {
    /// Nothing: there was no model to compare with.
    Nothing,
    /// True if the sample counts.
    Right(bool),
    /// The model's answer.
    Answer(Answer),
    /// A number.
    Number(f64),
    /// Numbers of a comparison with the float model, and of one with the simulation.
    Compared([Option<[f64; 2]>; 2]),
    /// The same of all numbers of an output, and of those of each of its parts.
    InParts([Option<[f64; 2]>; 2], Vec<[Option<[f64; 2]>; 2]>),
    /// For each class that occurs: the class, and the pixels in both and in either.
    Regions(Vec<(u32, [u64; 2])>),
    /// The boxes that were found, each held against those of the label.
    Claims(Vec<Claim>),
}

/// The notes of all models, in the order of the samples.
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    /// The integer model.
    pub integer: &'a [Note],
    /// The float model.
    pub float: Option<&'a [Note]>,
    /// The simulation.
    pub simulated: Option<&'a [Note]>,
}

/// The figures of a metric.
#[derive(Clone, Debug, Default)]
pub struct MetricFigures {
    /// As in [`Measured`].
    pub float: Option<Figure>,
    /// As in [`Measured`].
    pub integer: Option<Figure>,
    /// As in [`Measured`].
    pub simulated: Option<Figure>,
    /// As in [`Measured`].
    pub change: Option<Change>,
    /// As in [`Measured`].
    pub note: Option<String>,
    /// As in [`Measured`].
    pub parts: Vec<PartFigure>,
}

/// A metric: it notes something small of each sample, and makes figures of the notes.
pub trait Meter: Send + Sync {
    /// True for one that needs the outputs of other models on the same sample.
    fn compares(&self) -> bool {
        false
    }

    /// The notes of all samples, of a metric that a command computes: from what that prints of the outputs on all samples.
    ///
    /// # Errors
    /// JSON that says something else ([`EvaluateError::Printed`]).
    fn printed(&self, json: &serde_json::Value) -> Result<Vec<Note>, EvaluateError> {
        let _ = json;
        Ok(Vec::new())
    }

    /// Number of samples that have one label together.
    fn group(&self) -> usize {
        1
    }

    /// The note of one sample.
    ///
    /// # Errors
    /// Labels and outputs that do not fit each other.
    fn note(&self, seen: &Seen<'_>) -> Result<Note, EvaluateError>;

    /// The figures of all models. A metric that compares has none for what it was not compared with.
    fn measure(&self, runs: Runs<'_>) -> MetricFigures;
}

/// A metric of one or several outputs.
pub struct Measure {
    /// The name by which configuration and gates know it.
    pub name: String,
    /// The output that it looks at; absent where it looks at several together.
    pub output: Option<String>,
    /// Unit of its figures.
    pub unit: Unit,
    /// Direction in which figures get better.
    pub better: Better,
    /// The metric.
    pub meter: Box<dyn Meter>,
}

impl Measure {
    /// The figure of one model by itself, as that of an integer model.
    pub fn alone(&self, samples: usize, notes: &[Note]) -> Measured {
        let runs = Runs {
            integer: notes,
            float: None,
            simulated: None,
        };
        self.measured(samples, runs)
    }

    /// The metric's figures from the notes of all models.
    pub fn measured(&self, samples: usize, runs: Runs<'_>) -> Measured {
        let found = self.meter.measure(runs);
        let nothing = found.integer.is_none() && found.float.is_none() && found.simulated.is_none();
        let alone = || nothing.then(|| "there is no other model to compare with".to_owned());
        Measured {
            name: self.name.clone(),
            output: self.output.clone(),
            samples: (samples / self.meter.group().max(1)) as u64,
            unit: self.unit,
            better: self.better,
            float: found.float,
            integer: found.integer,
            simulated: found.simulated,
            change: found.change,
            note: found.note.or_else(alone),
            parts: found.parts,
        }
    }
}

/// The numbers of notes that are numbers.
pub(crate) fn numbers(notes: &[Note]) -> Vec<f64> {
    let number = |note: &Note| match note {
        Note::Number(number) => Some(*number),
        _ => None,
    };
    notes.iter().filter_map(number).collect()
}

impl Accuracy {
    /// The figures of all metrics, from what they noted of each model.
    pub fn new<'a>(
        measures: impl IntoIterator<Item = &'a Measure>,
        samples: usize,
        integer: &'a [Vec<Note>],
        float: Option<&'a [Vec<Note>]>,
        simulated: Option<&'a [Vec<Note>]>,
    ) -> Accuracy {
        let of = |notes: Option<&'a [Vec<Note>]>, index: usize| -> Option<&'a [Note]> {
            notes?.get(index).map(Vec::as_slice)
        };
        let measured = (measures.into_iter())
            .zip(integer)
            .enumerate()
            .map(|(index, (measure, integer))| {
                let runs = Runs {
                    integer,
                    float: of(float, index),
                    simulated: of(simulated, index),
                };
                measure.measured(samples, runs)
            });
        Accuracy {
            samples: samples as u64,
            metrics: measured.collect(),
        }
    }
}
