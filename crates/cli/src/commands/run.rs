//! Runs `strait run`.

use std::path::PathBuf;

use strait_driver::{
    artifact::{self, Opened, given_samples},
    run,
    session::Session,
    stop::Stop,
    targets,
};

use crate::{arguments::Run, console, exit::Exit};

pub(crate) fn run(arguments: &Run) -> Exit {
    match super::in_session(&arguments.executed.machine, |session| written(arguments, &session)) {
        Ok(files) => {
            let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            console::print(&files.join("\n"))
        }
        Err(stop) => console::stopped(&stop, false),
    }
}

fn written(arguments: &Run, session: &Session<'_>) -> Result<Vec<PathBuf>, Stop> {
    let registry = targets::registry([])?;
    let opened = Opened::open(&arguments.executed.artifact, &registry)?;
    let opened = artifact::by(opened, (&arguments.executed.kernels(), true), &registry, session)?;
    let inputs = artifact::inputs(&opened)?;
    let (samples, files) = given_samples(&arguments.input, &inputs)?;
    run::on_samples(&opened, (&samples, &files), &arguments.output, arguments.raw, session)
}
