//! Errors of Strait as exceptions.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use strait::{Error, Fault};
use strait_driver::{
    diagnostic::{Diagnostic, Severity},
    stop::Stop,
};

/// Makes the exception that the Python part defines for a code.
fn exception(code: &str, message: &str, help: &[String], layer: Option<&str>) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("strait_compiler._errors")
            .and_then(|module| module.call_method1("made", (code, message, help.join("\n"), layer)));
        match made {
            Ok(error) => PyErr::from_value(error),
            Err(error) => error,
        }
    })
}

/// The exception for an error of the library.
pub(crate) fn of_library(error: Error) -> PyErr {
    if error.fault() == Fault::Interrupted {
        return PyKeyboardInterrupt::new_err(());
    }
    let help: Vec<String> = error.hint().map(str::to_owned).into_iter().collect();
    exception(error.code(), error.message(), &help, error.layer())
}

/// The exception for the reason why the work stopped. If there are several findings, the message has all of them.
pub(crate) fn of_stop(stop: &Stop) -> PyErr {
    match stop {
        Stop::Interrupted => PyKeyboardInterrupt::new_err(()),
        Stop::Defect(text) => exception("defect", &format!("defect in Strait: {text}"), &[], None),
        Stop::Found(found) => {
            let errors = || found.0.iter().filter(|finding| finding.severity == Severity::Error);
            let Some(first) = errors().next().or(found.0.first()) else {
                return exception("defect", "defect in Strait: it stopped without a reason", &[], None);
            };
            let message: Vec<String> = errors().map(sentence).collect();
            exception(&first.code, &message.join("\n"), &first.help, None)
        }
    }
}

/// A finding with its notes.
fn sentence(finding: &Diagnostic) -> String {
    let mut text = finding.message.clone();
    for note in &finding.notes {
        text.push_str("; ");
        text.push_str(note);
    }
    text
}
