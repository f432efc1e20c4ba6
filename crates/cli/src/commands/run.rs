//! Runs `strait run`.

use std::path::PathBuf;

use serde_json::json;
use strait_driver::{
    artifact::{self, Opened, given_samples},
    dump::{self, Dumped, Others},
    eval::{FloatSide, SimulatedSide},
    recognise, run,
    session::Session,
    stop::Stop,
    targets,
};

use crate::{arguments::Run, console, exit::Exit};

pub(crate) fn run(arguments: &Run) -> Exit {
    if let Some(pattern) = &arguments.dump.dump {
        let dumped = super::in_session(&arguments.executed.machine, |session| {
            dumped(arguments, pattern, &session)
        });
        return console::made(dumped, arguments.dump.json, |dumped| json!(dumped), Dumped::to_string);
    }
    match super::in_session(&arguments.executed.machine, |session| written(arguments, &session)) {
        Ok(files) => {
            let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            console::print(&files.join("\n"))
        }
        Err(stop) => console::stopped(&stop, false),
    }
}

fn opened(arguments: &Run, session: &Session<'_>) -> Result<Opened, Stop> {
    let registry = targets::registry([])?;
    let opened = Opened::open(&arguments.executed.artifact, &registry)?;
    artifact::by(opened, (&arguments.executed.kernels(), true), &registry, session)
}

fn written(arguments: &Run, session: &Session<'_>) -> Result<Vec<PathBuf>, Stop> {
    let opened = opened(arguments, session)?;
    let inputs = artifact::inputs(&opened)?;
    let (samples, files) = given_samples(&arguments.input, &inputs)?;
    run::on_samples(&opened, (&samples, &files), &arguments.output, arguments.raw, session)
}

fn dumped(arguments: &Run, pattern: &str, session: &Session<'_>) -> Result<Dumped, Stop> {
    let (opened, asked) = (opened(arguments, session)?, &arguments.dump);
    let inputs = artifact::inputs(&opened)?;
    let (samples, files) = given_samples(&arguments.input, &inputs)?;
    let simulated = asked.simulated.as_ref().map(|file| {
        Ok::<_, Stop>(SimulatedSide {
            loaded: recognise::load(file, &[])?,
            registry: targets::registry([])?,
        })
    });
    let others = Others {
        float: asked.model.as_ref().map(|file| FloatSide { file, any: false }),
        simulated: simulated.transpose()?,
    };
    let asked = (pattern, asked.stage.stage());
    dump::dump(&opened, (&samples, &files), asked, (others, &arguments.output), session)
}
