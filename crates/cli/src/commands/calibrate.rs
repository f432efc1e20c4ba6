//! Runs `strait calibrate`.

use std::{num::NonZeroUsize, path::Path, time::Duration};

use serde_json::json;
use strait_driver::{
    pipeline::{self, Calibrated},
    recognise,
    session::{Phase, Session},
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
    let (made, json) = match &arguments.command {
        Some(CalibrateCommand::Merge(merge)) => (joined(merge), merge.json),
        None => (calibrated(arguments), arguments.json),
    };
    console::made(
        made,
        json,
        |(made, phases)| json!({ "phases": phases, "statistics": made }),
        |(made, _)| made.to_string(),
    )
}

/// Makes a file of statistics. Returns the phases, too.
fn calibrated(arguments: &Calibrate) -> Result<(Calibrated, Vec<Phase>), Stop> {
    super::in_session(&arguments.machine, |session| {
        // The parser of arguments has checked that a file is given if there is no subcommand.
        let file = arguments.file.as_deref().unwrap_or(Path::new(""));
        let loaded = recognise::load(file, &arguments.instead.overrides())?;
        let (shard, session) = match (arguments.shard, &arguments.exchange) {
            (Some(share), Some(folder)) => {
                let patience = Duration::from_secs(arguments.wait);
                (None, session.with_share(share, folder, patience)?)
            }
            (shard, _) => (shard, session),
        };
        let made = pipeline::calibrate(&loaded, shard, arguments.out.as_deref(), &session)?;
        Ok((made, session.phases()))
    })
}

fn joined(arguments: &Merge) -> Result<(Calibrated, Vec<Phase>), Stop> {
    let watch = Watch::new();
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &watch);
    let made = pipeline::merge(&arguments.files, &arguments.out, &session)?;
    Ok((made, session.phases()))
}
