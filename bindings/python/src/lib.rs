//! The native part of the Python package `strait_compiler`. The Python part is in `python/strait_compiler`, and the only
//! caller of these functions.

mod artifact;
mod compile;
mod failure;
mod progress;

use pyo3::prelude::*;

/// Names the program `strait` of this package. It is started as the worker of plugins.
#[pyfunction]
fn program(path: std::path::PathBuf) {
    strait_plugin_host::Program::stands_for_this(path);
}

/// The ids of the targets that are part of the package.
#[pyfunction]
fn targets() -> PyResult<Vec<String>> {
    strait::targets().map_err(failure::of_library)
}

/// The module `strait_compiler._strait`.
#[pymodule]
fn _strait(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(program, module)?)?;
    module.add_function(wrap_pyfunction!(targets, module)?)?;
    module.add_function(wrap_pyfunction!(compile::compile, module)?)?;
    module.add_function(wrap_pyfunction!(compile::inputs, module)?)?;
    module.add_function(wrap_pyfunction!(compile::analyze, module)?)?;
    module.add_class::<artifact::Artifact>()?;
    module.add_class::<artifact::Session>()?;
    Ok(())
}
