//! Runs `strait samples`.

use strait_driver::{
    config,
    pipeline::{self, Seen, SeenSamples},
    recognise,
    session::Session,
    stop::Stop,
};

use crate::{arguments::Samples, console, exit::Exit, watch::Watch};

pub(crate) fn run(arguments: &Samples) -> Exit {
    let watch = Watch::new();
    let session = super::session(&arguments.machine, &watch);
    let result = session.and_then(|session| written(arguments, &session));
    drop(watch);
    match result {
        Ok(seen) if arguments.json => console::print_json(&serde_json::json!({ "samples": seen })),
        Ok(seen) => console::print(&seen.to_string()),
        Err(stop) => console::stopped(&stop, arguments.json),
    }
}

fn written(arguments: &Samples, session: &Session<'_>) -> Result<Seen, Stop> {
    let overrides: Vec<_> = arguments.instead.overrides().collect();
    recognise::configuration(&arguments.file)?;
    let loaded = config::load(&arguments.file, &overrides)?;
    let wanted = SeenSamples {
        evaluation: arguments.evaluation,
        most: arguments.samples,
    };
    pipeline::seen(&loaded, wanted, &arguments.out, session)
}
