//! The report of [`check`](crate::check).

use std::fmt;
use strait_core::Attribute;
use strait_kernels::Isa;
use strait_requantize::{IntType, Requantization};

/// What the checks found for each form of a target. The forms are sorted by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Id of the target.
    pub target: String,
    /// The forms of the target.
    pub forms: Vec<FormReport>,
}

/// What the checks found for one form.
#[derive(Clone, Debug, PartialEq)]
pub struct FormReport {
    /// Name of the form.
    pub form: String,
    /// Number of requantizations of this form that were tried.
    pub requantizations: usize,
    /// Number of results that were compared.
    pub results: u64,
    /// The first few findings.
    pub findings: Vec<KitFinding>,
    /// Number of findings that are not listed.
    pub more: usize,
}

/// A wrong result of a target, or a loop that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct KitFinding {
    /// The requantization, which is within the limits of the form.
    pub requantization: Requantization,
    /// The clamp after the requantization.
    pub clamp: Option<[i32; 2]>,
    /// What is wrong.
    pub wrong: Wrong,
}

/// What is wrong with one requantization.
#[derive(Clone, Debug, PartialEq)]
pub enum Wrong {
    /// The limits of the form's row refuse the requantization. Then the checks have a bug, or the code that interprets
    /// the table has one.
    NotAccepted(String),
    /// The target has no loops for the requantization.
    NoLoops(String),
    /// The type of the loops' results is not the form's type. It is given here.
    Output(IntType),
    /// A loop failed.
    Run {
        /// Name of the loop.
        run: &'static str,
        /// The error that the kernel returned.
        error: String,
    },
    /// A result differs from the definition.
    Result {
        /// Name of the loop.
        run: &'static str,
        /// The instruction set that was used.
        isa: Isa,
        /// Channel of the result.
        channel: usize,
        /// Accumulator that was requantized.
        accumulator: i64,
        /// The result by the definition of the form.
        expect: i32,
        /// The result of the kernel.
        found: i32,
    },
}

/// How many findings are listed for one form.
const KEPT: usize = 5;

impl FormReport {
    pub(crate) fn new(form: &str) -> FormReport {
        FormReport {
            form: form.into(),
            requantizations: 0,
            results: 0,
            findings: Vec::new(),
            more: 0,
        }
    }

    pub(crate) fn find(&mut self, requantization: &Requantization, clamp: Option<[i32; 2]>, wrong: Wrong) {
        if self.findings.len() < KEPT {
            self.findings.push(KitFinding {
                requantization: requantization.clone(),
                clamp,
                wrong,
            });
        } else {
            self.more += 1;
        }
    }
}

impl Report {
    /// True if every form was tried and nothing is wrong.
    pub fn is_ok(&self) -> bool {
        !self.forms.is_empty()
            && self
                .forms
                .iter()
                .all(|form| form.findings.is_empty() && form.results > 0)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::NotAccepted(reason) => write!(f, "the form's limits refuse it: {reason}"),
            Wrong::NoLoops(error) => write!(f, "the target has no loops for it: {error}"),
            Wrong::Output(out) => write!(f, "the loops write {out}"),
            Wrong::Run { run, error } => write!(f, "{run}: {error}"),
            Wrong::Result {
                run,
                isa,
                channel,
                accumulator,
                expect,
                found,
            } => {
                write!(
                    f,
                    "{run} on {}: {accumulator} in channel {channel} gives {found}, not {expect}",
                    isa.name()
                )
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.target)?;
        for form in &self.forms {
            let verdict = if form.findings.is_empty() {
                "equal to its definition"
            } else {
                "WRONG"
            };
            writeln!(
                f,
                "  {}: {verdict} ({} requantizations, {} results)",
                form.form, form.requantizations, form.results
            )?;
            for KitFinding {
                requantization,
                clamp,
                wrong,
            } in &form.findings
            {
                let form = Attribute::Form(Box::new(requantization.clone()));
                write!(f, "    {wrong}\n      {form}")?;
                match clamp {
                    Some([low, high]) => writeln!(f, ", clamp [{low}, {high}]")?,
                    None => writeln!(f)?,
                }
            }
            if form.more > 0 {
                writeln!(f, "    and {} more", form.more)?;
            }
        }
        Ok(())
    }
}
