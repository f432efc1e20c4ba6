//! Report of the suite.

use std::fmt;
use strait_core::Attribute;
use strait_kernels::Isa;
use strait_requantize::{IntType, Requantization};

/// Findings, form by form in the order of their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The target's id.
    pub target: String,
    /// Its forms.
    pub forms: Vec<FormReport>,
}

/// Findings about one form.
#[derive(Clone, Debug, PartialEq)]
pub struct FormReport {
    /// The form's name.
    pub form: String,
    /// Number of requantizations of this form that were tried.
    pub requantizations: usize,
    /// Number of results that were compared.
    pub results: u64,
    /// The first few findings, and the number of further ones.
    pub findings: Vec<Finding>,
    /// Findings beyond those.
    pub more: usize,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The requantization, within the limits of the form.
    pub requantization: Requantization,
    /// The clamp behind it.
    pub clamp: Option<[i32; 2]>,
    /// Description of the error.
    pub wrong: Wrong,
}

/// Error of one requantization.
#[derive(Clone, Debug, PartialEq)]
pub enum Wrong {
    /// The form's own limits refuse it: a defect of the suite or of the table's meaning.
    NotAccepted(String),
    /// The target has no loops for it.
    NoLoops(String),
    /// The loops write another type.
    Output(IntType),
    /// A loop failed.
    Run {
        /// Which loop.
        run: &'static str,
        /// Message of the kernel.
        error: String,
    },
    /// A result differs from the definition.
    Result {
        /// Which loop.
        run: &'static str,
        /// On which instruction set.
        isa: Isa,
        /// The channel.
        channel: usize,
        /// The accumulator.
        accumulator: i64,
        /// Result of the definition.
        expect: i32,
        /// Result of the kernel.
        found: i32,
    },
}

/// Findings that are kept of one form.
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
            self.findings.push(Finding {
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
    /// True if every form was tried and nothing was wrong.
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
            for Finding {
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
