//! A metric of the user's own. A command computes it from the outputs on all samples and prints JSON.
//!
//! A JSON pointer says where the figure is in the JSON. The command may also print a list with a number for each
//! sample; the figure is then the mean of these numbers.

use serde_json::Value as Json;

use crate::seen::EvaluatedSample;
use crate::{
    accuracy::{Change, Figure},
    error::EvaluateError,
    interval::Spread,
    meter::{Meter, MetricFigures, Note, Runs, numbers},
};

/// Reads the JSON that the command prints.
pub struct Own {
    /// The JSON pointer to the figure.
    pub value: String,
    /// The JSON pointer to the list with a number for each sample.
    pub each: Option<String>,
    /// Number of samples.
    pub samples: usize,
}

impl Meter for Own {
    fn note(&self, _: &EvaluatedSample<'_>) -> Result<Note, EvaluateError> {
        Ok(Note::Nothing)
    }

    fn printed(&self, json: &Json) -> Result<Vec<Note>, EvaluateError> {
        let value = self.at(json, &self.value)?;
        let Some(figure) = value.as_f64() else {
            let wrong = format!("has no number at {:?}, but {}", self.value, kind(value));
            return Err(EvaluateError::Printed(wrong));
        };
        let mut notes = vec![Note::Number(figure)];
        if let Some(each) = &self.each {
            let list = self.at(json, each)?;
            let numbers: Option<Vec<f64>> = list.as_array().and_then(|list| list.iter().map(Json::as_f64).collect());
            let numbers = numbers.filter(|numbers| numbers.len() == self.samples).ok_or_else(|| {
                let wanted = format!(
                    "has at {each:?} no list of {} numbers, one for each sample, but {}",
                    self.samples,
                    kind(list)
                );
                EvaluateError::Printed(wanted)
            })?;
            let mean = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
            if (mean - figure).abs() > 1e-6 * figure.abs().max(1e-6) {
                let wrong = format!("has at {each:?} numbers whose mean is {mean}, and the figure is {figure}");
                return Err(EvaluateError::Printed(wrong));
            }
            notes.extend(numbers.into_iter().map(Note::Number));
        }
        Ok(notes)
    }

    fn measure(&self, runs: Runs<'_>) -> MetricFigures {
        // The first note has the figure. Each other note has the number of one sample.
        let parts = |notes: &[Note]| {
            let numbers = numbers(notes);
            numbers.split_first().map(|(&figure, each)| (figure, each.to_vec()))
        };
        let figure = |(value, each): &(f64, Vec<f64>)| Figure::spread(*value, Spread::of_mean(each).1);
        let (integer, float) = (parts(runs.integer), runs.float.and_then(parts));
        let change = integer
            .as_ref()
            .zip(float.as_ref())
            .map(|((value, each), (before, before_each))| {
                let differences: Vec<f64> = each.iter().zip(before_each).map(|(one, other)| one - other).collect();
                Change::new(value - before, Spread::of_mean(&differences).1)
            });
        let note = "the command gives one number for all samples, which has no interval";
        MetricFigures {
            change,
            float: float.as_ref().map(figure),
            integer: integer.as_ref().map(figure),
            simulated: runs.simulated.and_then(parts).as_ref().map(figure),
            note: self.each.is_none().then(|| note.to_owned()),
            ..MetricFigures::default()
        }
    }
}

impl Own {
    fn at<'j>(&self, json: &'j Json, pointer: &str) -> Result<&'j Json, EvaluateError> {
        json.pointer(pointer).ok_or_else(|| {
            let there = match json {
                Json::Object(keys) => {
                    let keys: Vec<String> = keys.keys().take(20).map(|key| format!("/{key}")).collect();
                    format!("; there are {}", keys.join(", "))
                }
                other => format!("; it is {}", kind(other)),
            };
            EvaluateError::Printed(format!("printed JSON without {pointer:?}{there}"))
        })
    }
}

/// The kind of a JSON value, in a few words for a message.
fn kind(json: &Json) -> String {
    match json {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => format!("the text {:?}", text.chars().take(40).collect::<String>()),
        Json::Array(list) => format!("a list of {}", list.len()),
        Json::Object(_) => "an object".to_owned(),
    }
}
