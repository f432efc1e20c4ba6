//! Runs `strait check`.

use std::path::Path;

use serde_json::json;
use strait_driver::{
    config::{self, SCHEMA},
    pipeline, recognise,
    shown::{AllLayers, Shown},
    targets,
};

use crate::{arguments::CheckModel, console, exit::Exit, volume};

pub(crate) fn run(arguments: &CheckModel) -> Exit {
    let checked = super::in_session(&arguments.machine, |session| {
        let overrides = arguments.overrides();
        let loaded = match &arguments.file {
            Some(file) => recognise::load(file, &overrides)?,
            None => config::parse(
                "the command line",
                format!("schema = {SCHEMA}\n"),
                Path::new(""),
                &overrides,
            )?,
        };
        pipeline::check(&loaded, targets::registry([])?, &session)
    });
    let text = |checks: &_| match arguments.all || volume::is_verbose() {
        true => format!("{}\n{}", Shown(checks), AllLayers(checks)),
        false => format!("{}`--all` shows each layer\n", Shown(checks)),
    };
    console::made(checked, arguments.json, |checks| json!(checks), text)
}
