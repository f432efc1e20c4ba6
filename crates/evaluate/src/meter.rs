//! The trait of a metric, and its inputs and results.
//!
//! A model runs on each sample once. For each sample, a metric keeps a note whose size does not depend on the size of
//! the outputs: two counts, a number, or counts for each class. Only the list of changed answers (`--flips`) is longer
//! the more answers changed. The notes of the float model are made once and used for
//! every target. Only metrics that compare outputs number by number need the outputs of the two compared models on the
//! same sample at the same time. Sums of floats are computed in the order of a tensor's elements, and then in the order
//! of the samples.

use crate::seen::EvaluatedSample;

use crate::{
    accuracy::{Accuracy, Change, Figure, Measured, PartFigure, Unit},
    answers::Answers,
    error::EvaluateError,
    metrics::{Claim, Flipped, OneAnswer},
    words::Better,
};

/// What a metric keeps of one sample.
#[derive(Clone, Debug)]
pub enum Note {
    /// Nothing is kept, because there was no model to compare with.
    Nothing,
    /// How many of the model's answers to the sample are right, and how many answers count.
    Right([u64; 2]),
    /// The model's only answer to the sample.
    Answer(Answers),
    /// How many answers to the sample are those of the float model, and then of the simulation, and how many answers
    /// count. `None` if there was no comparison.
    Alike([Option<[u64; 2]>; 2]),
    /// The sum of a number over the answers to the sample, and how many answers count. The sum may be infinite.
    Total(f64, u64),
    /// The answers to the sample that the float model gives otherwise.
    Flipped(Flipped),
    /// A number, such as a score or an error.
    Number(f64),
    /// The results of comparing the output with the float model's output, and then with the simulation's output. Each
    /// comparison gives two numbers, whose meaning depends on the metric. `None` if the comparison was not made.
    Compared([Option<[f64; 2]>; 2]),
    /// Like `Compared`: first the numbers for the whole output, then those for each of its parts.
    InParts([Option<[f64; 2]>; 2], Vec<[Option<[f64; 2]>; 2]>),
    /// For each class that occurs in the sample: the class, the number of pixels that both label and answer assign to
    /// it, and the number of pixels that at least one of them assigns to it.
    Regions(Vec<(u32, [u64; 2])>),
    /// The boxes that the model found, with the result of comparing each box with those of the label.
    Claims(Vec<Claim>),
    /// The model's only answer to the sample, with its score.
    Answered(OneAnswer),
}

/// The notes of all models, in the order of the samples.
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    /// Notes of the integer model.
    pub integer: &'a [Note],
    /// Notes of the float model.
    pub float: Option<&'a [Note]>,
    /// Notes of the simulation.
    pub simulated: Option<&'a [Note]>,
}

/// The figures that a metric computed. Each field is described at the field of [`Measured`] with the same name.
#[derive(Clone, Debug, Default)]
pub struct MetricFigures {
    /// See [`Measured::float`].
    pub float: Option<Figure>,
    /// See [`Measured::integer`].
    pub integer: Option<Figure>,
    /// See [`Measured::simulated`].
    pub simulated: Option<Figure>,
    /// See [`Measured::change`].
    pub change: Option<Change>,
    /// See [`Measured::answers`].
    pub answers: Option<u64>,
    /// See [`Measured::note`].
    pub note: Option<String>,
    /// See [`Measured::parts`].
    pub parts: Vec<PartFigure>,
}

/// A metric. It keeps a small note of each sample, and computes figures from the notes.
pub trait Meter: Send + Sync {
    /// True if the metric needs another model's outputs on the same sample.
    fn compares(&self) -> bool {
        false
    }

    /// For a metric that a command computes: reads the notes of all samples from the JSON that the command printed.
    ///
    /// # Errors
    /// [`EvaluateError::Printed`] if the JSON does not have the expected contents.
    fn printed(&self, json: &serde_json::Value) -> Result<Vec<Note>, EvaluateError> {
        let _ = json;
        Ok(Vec::new())
    }

    /// Number of consecutive samples that share one label.
    fn group(&self) -> usize {
        1
    }

    /// Makes the note of one sample.
    ///
    /// # Errors
    /// The labels and the outputs do not fit together.
    fn note(&self, seen: &EvaluatedSample<'_>) -> Result<Note, EvaluateError>;

    /// Computes the figures of all models from their notes. If a metric compares two models, there are only figures for
    /// models that were compared.
    fn measure(&self, runs: Runs<'_>) -> MetricFigures;
}

/// A metric, and the output or outputs to which it is applied.
pub struct Measure {
    /// Name of the metric, as the configuration and its gates use it.
    pub name: String,
    /// Output that the metric looks at; absent if it looks at several together.
    pub output: Option<String>,
    /// Unit of the metric's figures.
    pub unit: Unit,
    /// Whether higher or lower figures are better.
    pub better: Better,
    /// Computes the metric.
    pub meter: Box<dyn Meter>,
}

impl Measure {
    /// The figures if only one model was run. They are stored where the figures of an integer model would be.
    pub fn alone(&self, samples: usize, notes: &[Note]) -> Measured {
        let runs = Runs {
            integer: notes,
            float: None,
            simulated: None,
        };
        self.measured(samples, runs)
    }

    /// The figures of the metric, computed from the notes of all models.
    pub fn measured(&self, samples: usize, runs: Runs<'_>) -> Measured {
        let found = self.meter.measure(runs);
        let nothing = found.integer.is_none() && found.float.is_none() && found.simulated.is_none();
        let alone = || nothing.then(|| "there is no other model to compare with".to_owned());
        Measured {
            name: self.name.clone(),
            output: self.output.clone(),
            samples: (samples / self.meter.group().max(1)) as u64,
            answers: found.answers,
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

/// The numbers of all notes that are a [`Note::Number`].
pub(crate) fn numbers(notes: &[Note]) -> Vec<f64> {
    let number = |note: &Note| match note {
        Note::Number(number) => Some(*number),
        _ => None,
    };
    notes.iter().filter_map(number).collect()
}

impl Accuracy {
    /// The figures of all metrics, computed from the notes of each model.
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
