//! Runs `strait calibrate`.

use std::{num::NonZeroUsize, path::Path};

use serde_json::json;
use strait_driver::{
    config,
    pipeline::{self, Calibrated},
    recognise,
    session::Session,
    stop::Stop,
};
use strait_kernels::Context;

use crate::{
    arguments::{Calibrate, CalibrateCommand, Merge},
    console,
    exit::Exit,
    watch::Watch,
};

pub(crate) fn run(arguments: &Calibrate) -> Exit {
    match &arguments.command {
        Some(CalibrateCommand::Merge(merge)) => watched(
            merge.json,
            |watch| Ok(Session::new(NonZeroUsize::MIN, Context::detect(), watch)),
            |session| joined(merge, session),
        ),
        None => watched(
            arguments.json,
            |watch| super::session(&arguments.machine, watch),
            |session| calibrated(arguments, session),
        ),
    }
}

/// Runs `work` in a session and prints the path of the file that it has made.
fn watched(
    json: bool,
    session: impl for<'a> FnOnce(&'a Watch) -> Result<Session<'a>, Stop>,
    work: impl FnOnce(&Session<'_>) -> Result<Calibrated, Stop>,
) -> Exit {
    let watch = Watch::new();
    let done = session(&watch).and_then(|session| {
        let made = work(&session)?;
        Ok((made, session.phases()))
    });
    drop(watch);
    match done {
        Ok((made, phases)) if json => console::print_json(&json!({ "phases": phases, "statistics": made })),
        Ok((made, _)) => console::print(&made.to_string()),
        Err(stop) => console::stopped(&stop, json),
    }
}

fn calibrated(arguments: &Calibrate, session: &Session<'_>) -> Result<Calibrated, Stop> {
    // The parser of arguments has checked that a file is given if there is no subcommand.
    let file = arguments.file.as_deref().unwrap_or(Path::new(""));
    let overrides: Vec<_> = arguments.instead.overrides().collect();
    recognise::configuration(file)?;
    let loaded = config::load(file, &overrides)?;
    pipeline::calibrate(&loaded, arguments.shard, arguments.out.as_deref(), session)
}

fn joined(arguments: &Merge, session: &Session<'_>) -> Result<Calibrated, Stop> {
    pipeline::merge(&arguments.files, &arguments.out, session)
}
