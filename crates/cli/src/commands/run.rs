//! `strait run`

use std::{collections::BTreeMap, path::PathBuf};

use strait_driver::{
    artifact::{Opened, named_file},
    data,
    diagnostic::Diagnostic,
    run,
    session::Session,
    stop::Stop,
    targets,
};

use crate::{arguments::Run, console, exit::Exit, watch::Watch};

pub(crate) fn run(arguments: &Run) -> Exit {
    let watch = Watch::new();
    let result = super::context(&arguments.executed.machine).and_then(|context| {
        let session = Session::new(super::threads(&arguments.executed.machine), context, &watch);
        written(arguments, &session)
    });
    drop(watch);
    match result {
        Ok(files) => {
            let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            console::print(&files.join("\n"))
        }
        Err(stop) => console::stopped(&stop, false),
    }
}

fn written(arguments: &Run, session: &Session<'_>) -> Result<Vec<PathBuf>, Stop> {
    let opened = Opened::open(&arguments.executed.artifact, &targets::registry([])?)?;
    let inputs = opened.inputs()?;
    let mut files = BTreeMap::new();
    for argument in &arguments.input {
        let (name, file) = named_file(argument, &inputs)?;
        if files.insert(name.clone(), file).is_some() {
            return Err(Diagnostic::error(data::codes::NAME, format!("two files for the input {name:?}")).into());
        }
    }
    run::run(&opened, &files, &arguments.output, arguments.raw, session)
}
