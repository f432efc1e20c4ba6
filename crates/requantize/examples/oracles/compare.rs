//! Compares the results of a program, stored in a file, with those of one or several of our rules.

use crate::rules::{self, Rows};
use serde::Deserialize;
use std::error::Error;
use std::path::Path;
use strait_requantize::form::TosaInput;
use strait_requantize::{IntType, Per, Roundings};

/// A case: the inputs that another program got, and its results.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    /// The scale of the result.
    pub(crate) output: f32,
    /// The zero point of the result.
    pub(crate) zero: i32,
    /// The type of the result.
    pub(crate) out: IntType,
    /// The scales of the activations.
    #[serde(default)]
    pub(crate) inputs: Vec<f32>,
    /// The zero points of the activations, if the rows are codes.
    #[serde(default)]
    pub(crate) zeros: Vec<i32>,
    /// The scales of the weights.
    pub(crate) weights: Option<Per<f32>>,
    /// The number of elements that are added up in each sum.
    #[serde(default)]
    pub(crate) count: u32,
    /// The beta of a softmax, or the slope of a leaky ReLU.
    pub(crate) parameter: Option<f32>,
    /// The ends of a fused activation, as real numbers.
    pub(crate) clamp: Option<[Option<f32>; 2]>,
    /// The attributes of RESCALE, except for the type and the zero point of the output.
    pub(crate) rescale: Option<Rescale>,
    /// The extents of an image before and after interpolation.
    pub(crate) resize: Option<Resize>,
    /// The inputs: accumulators with one row for each channel, or operands with one row for each operand. Floats are
    /// stored as their bits.
    pub(crate) x: Rows,
    /// The results of the program. `None` for inputs for which the program reports that there is no result.
    pub(crate) y: Vec<Vec<Option<i64>>>,
}

/// Parameters of TOSA's RESCALE.
#[derive(Debug, Deserialize)]
pub(crate) struct Rescale {
    pub(crate) multiplier: Per<i32>,
    pub(crate) shift: Per<u8>,
    /// The width of the multiplier: 16 or 32.
    pub(crate) bits: u8,
    pub(crate) rounding: Roundings,
    pub(crate) input: TosaInput,
    pub(crate) input_zero: i32,
}

/// The parameters of a linear interpolation.
#[derive(Debug, Deserialize)]
pub(crate) struct Resize {
    pub(crate) from: [u64; 2],
    pub(crate) to: [u64; 2],
    /// `asymmetric`, `half pixel` or `corners aligned`.
    pub(crate) sampling: String,
}

#[derive(Deserialize)]
struct File {
    program: String,
    kernel: String,
    rule: String,
    /// True if the results of our rule should be equal to those of the kernel.
    equal: bool,
    other_rules: Vec<String>,
    note: Option<String>,
    cases: Vec<Case>,
}

/// The comparison of one kernel with one or several rules.
pub(crate) struct Kernel {
    pub(crate) program: String,
    pub(crate) name: String,
    pub(crate) note: Option<String>,
    /// True if the results of our rule should be equal to those of the kernel.
    pub(crate) equal: bool,
    /// The comparison with our rule for this kernel.
    pub(crate) rule: Count,
    /// Comparisons with similar rules. They show that the cases can tell these rules from ours.
    pub(crate) others: Vec<Count>,
}

/// How many results were compared, by outcome.
pub(crate) struct Count {
    pub(crate) name: String,
    pub(crate) compared: usize,
    pub(crate) differing: usize,
    /// The number of results for accumulators outside of the form's domain, where the program wraps.
    pub(crate) outside: usize,
    /// The number of inputs for which neither the rule nor the program defines a result.
    pub(crate) undefined: usize,
    first: Option<String>,
}

impl Kernel {
    /// Reads a file and compares the results in its cases with those of the rules.
    pub(crate) fn read(path: &Path) -> Result<Kernel, Box<dyn Error>> {
        let file: File = serde_json::from_slice(&std::fs::read(path)?)?;
        let count = |rule: &String| Count::new(rule, &file.cases);
        Ok(Kernel {
            rule: count(&file.rule)?,
            equal: file.equal,
            others: file.other_rules.iter().map(count).collect::<Result<_, _>>()?,
            program: file.program,
            name: file.kernel,
            note: file.note,
        })
    }

    /// False if the results should be equal to the kernel's, but a result differs or nothing was compared.
    pub(crate) fn holds(&self) -> bool {
        !self.equal || (self.rule.differing == 0 && self.rule.compared > 0)
    }

    /// Prints one line, and a second line for the first difference if there is one.
    pub(crate) fn print(&self) {
        let verdict = match (self.holds(), self.equal) {
            (true, true) => "ok      ",
            (true, false) => "measured",
            (false, _) => "FAILED  ",
        };
        let Count {
            name,
            compared,
            differing,
            ..
        } = &self.rule;
        println!(
            "{verdict} {}, {}: {differing} of {compared} differ from {name}",
            self.program, self.name
        );
        if let Some(first) = &self.rule.first {
            println!("         {first}");
        }
    }
}

impl Count {
    fn new(rule: &str, cases: &[Case]) -> Result<Count, Box<dyn Error>> {
        let apply = rules::find(rule).ok_or_else(|| format!("there is no rule {rule}"))?;
        let mut count = Count {
            name: rule.into(),
            compared: 0,
            differing: 0,
            outside: 0,
            undefined: 0,
            first: None,
        };
        for (number, case) in cases.iter().enumerate() {
            let ours = apply(case).map_err(|error| format!("case {number}: {error}"))?;
            if ours.len() != case.y.len() {
                return Err(format!("case {number}: {} rows for {}", ours.len(), case.y.len()).into());
            }
            for (row, (ours, theirs)) in ours.iter().zip(&case.y).enumerate() {
                if ours.len() != theirs.len() {
                    return Err(format!("case {number}: {} results for {}", ours.len(), theirs.len()).into());
                }
                for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                    match (ours, theirs) {
                        (None, None) => count.undefined += 1,
                        (None, Some(_)) => count.outside += 1,
                        _ => count.compared += 1,
                    }
                    if ours.is_some() && ours != theirs {
                        count.differing += 1;
                        let text = || {
                            format!(
                                "first: case {number}, {} gives {theirs:?}, {ours:?} by {rule}",
                                case.operands(row, at)
                            )
                        };
                        count.first.get_or_insert_with(text);
                    }
                }
            }
        }
        Ok(count)
    }
}

impl Case {
    /// The operands of a result, as text. If there are as many rows of operands as rows of results, each row is a
    /// channel. Otherwise each row is an operand.
    fn operands(&self, row: usize, at: usize) -> String {
        let rows = if self.x.len() == self.y.len() {
            &self.x[row..=row]
        } else {
            &self.x[..]
        };
        let values: Vec<i64> = rows.iter().filter_map(|x| x.get(at).copied()).collect();
        format!("{values:?} in row {row}")
    }
}
