//! Shows progress by Python's means: an object with methods `begin`, `advance`, `end`, `say` and `remark`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use strait_driver::{diagnostic::Diagnostic, session::Progress};

/// Calls a Python object, and stops the work if one of its methods raises an exception or a signal arrives.
pub(crate) struct Watched {
    object: Py<PyAny>,
    stopped: AtomicBool,
    raised: Mutex<Option<PyErr>>,
}

impl Watched {
    pub(crate) fn new(object: Py<PyAny>) -> Watched {
        Watched {
            object,
            stopped: AtomicBool::new(false),
            raised: Mutex::new(None),
        }
    }

    /// The exception because of which the work was stopped.
    pub(crate) fn raised(self) -> Option<PyErr> {
        self.raised.into_inner().ok().flatten()
    }

    fn call(&self, work: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<()>) {
        let done = Python::attach(|py| {
            py.check_signals()?;
            work(self.object.bind(py))
        });
        if let Err(error) = done {
            self.stopped.store(true, Ordering::Relaxed);
            if let Ok(mut raised) = self.raised.lock() {
                raised.get_or_insert(error);
            }
        }
    }
}

impl Progress for Watched {
    fn begin(&self, phase: &str, total: Option<usize>) {
        self.call(|object| object.call_method1("begin", (phase, total)).map(drop));
    }

    fn advance(&self, done: usize) {
        self.call(|object| object.call_method1("advance", (done,)).map(drop));
    }

    fn end(&self) {
        self.call(|object| object.call_method0("end").map(drop));
    }

    fn say(&self, text: &str) {
        self.call(|object| object.call_method1("say", (text,)).map(drop));
    }

    fn remark(&self, found: &Diagnostic) {
        let (severity, code) = (found.severity.name(), &found.code);
        self.call(|object| {
            object
                .call_method1("remark", (severity, code, &found.message))
                .map(drop)
        });
    }

    fn interrupted(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
