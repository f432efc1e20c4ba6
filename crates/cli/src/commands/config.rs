//! Runs `strait config`.

use std::path::Path;

use serde_json::json;
use strait_driver::{
    config::{self, Loaded, Override, SCHEMA},
    diagnostic::{Diagnostic, Diagnostics},
    effective::effective,
    recognise,
    shown::Shown,
    targets,
};

use crate::{
    arguments::{ConfigCommand, Machine, Show},
    console,
    exit::Exit,
};

pub(crate) fn run(command: &ConfigCommand) -> Exit {
    let ConfigCommand::Show(arguments) = command;
    let found = super::in_session(&Machine::default(), |session| {
        effective(&loaded(arguments)?, targets::registry([])?, &session)
    });
    console::made(
        found,
        arguments.json,
        |found| json!(found),
        |found| Shown(found).to_string(),
    )
}

fn loaded(arguments: &Show) -> Result<Loaded, Diagnostics> {
    let targets = (!arguments.target.is_empty()).then(|| Override::targets(arguments.target.clone()));
    let overrides: Vec<Override> = targets.into_iter().chain(arguments.instead.overrides()).collect();
    match &arguments.file {
        Some(file) => recognise::load(file, &overrides),
        None if arguments.target.is_empty() => {
            let message = "there is no configuration, and no target whose defaults could be shown";
            let finding = Diagnostic::error(config::codes::MISSING, message);
            Err(finding.help("name a file, or a target with `--target`").into())
        }
        None => config::parse(EXAMPLE, example(), Path::new(""), &overrides),
    }
}

/// What stands in place of a file's name.
const EXAMPLE: &str = "(an example)";

/// The required keys, so that the defaults of all others can be shown.
fn example() -> String {
    format!(
        "schema = {SCHEMA}\nmodel.file = \"model.onnx\"\ntarget.use = []\ncalibration.data = \"calib.npy\"\n\
         output.dir = \"build/{{target}}\"\n"
    )
}
