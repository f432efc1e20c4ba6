//! Compiles and analyzes a configuration.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use pyo3::prelude::*;
use strait_driver::{
    config::{self, Loaded},
    pipeline::{self, AnalysisRequest},
    session::{Session, threads},
    stop::Stop,
    targets,
};
use strait_kernels::Context;

use crate::{failure, progress::Watched};

/// So many rules are tried against the layers that lose most.
const RULES: usize = 3;

/// An artifact that was written: the id of its target, its folder, its digest and its report in JSON.
type Written = (String, PathBuf, String, String);

/// Compiles the configuration `text`, whose paths are relative to `folder`.
#[pyfunction]
pub(crate) fn compile(
    py: Python<'_>,
    text: String,
    folder: PathBuf,
    wanted: Option<NonZeroUsize>,
    watch: Py<PyAny>,
) -> PyResult<Vec<Written>> {
    let compiled = in_session(py, (text, folder), wanted, watch, |loaded, session| {
        pipeline::compile(loaded, targets::registry([])?, session)
    })?;
    let written = compiled.into_iter().map(|one| {
        let mut report = Vec::new();
        one.report.write_json(&mut report)?;
        let report = String::from_utf8_lossy(&report).into_owned();
        Ok((one.target, one.folder, one.digest.to_string(), report))
    });
    written.collect()
}

/// Analyzes where the configuration loses accuracy. Returns the analysis in JSON.
#[pyfunction]
pub(crate) fn analyze(
    py: Python<'_>,
    text: String,
    folder: PathBuf,
    wanted: Option<NonZeroUsize>,
    watch: Py<PyAny>,
) -> PyResult<String> {
    let request = AnalysisRequest {
        samples: None,
        rules: RULES,
    };
    let analysis = in_session(py, (text, folder), wanted, watch, |loaded, session| {
        pipeline::analyze(loaded, targets::registry([])?, request, session)
    })?;
    serde_json::to_string(&analysis).map_err(|error| failure::of_stop(&Stop::Defect(error.to_string())))
}

/// The names of the inputs of the configuration's model.
#[pyfunction]
pub(crate) fn inputs(py: Python<'_>, text: String, folder: PathBuf) -> PyResult<Vec<String>> {
    let names = py.detach(|| {
        let loaded = config::parse("the configuration", text, &folder, &[])?;
        pipeline::input_names(&loaded)
    });
    names.map_err(|stop| failure::of_stop(&stop))
}

fn in_session<T: Send>(
    py: Python<'_>,
    (text, folder): (String, PathBuf),
    wanted: Option<NonZeroUsize>,
    watch: Py<PyAny>,
    work: impl FnOnce(&Loaded, &Session<'_>) -> Result<T, Stop> + Send,
) -> PyResult<T> {
    let watched = Watched::new(watch);
    let done = py.detach(|| {
        let loaded = config::parse("the configuration", text, &folder, &[])?;
        let session = Session::new(threads(wanted, &watched), Context::detect(), &watched);
        work(&loaded, &session)
    });
    match (done, watched.raised()) {
        (_, Some(raised)) => Err(raised),
        (Ok(done), None) => Ok(done),
        (Err(stop), None) => Err(failure::of_stop(&stop)),
    }
}
