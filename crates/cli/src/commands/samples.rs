//! Runs `strait samples`.

use strait_driver::{
    pipeline::{self, Seen, SeenSamples},
    recognise,
    session::Session,
    stop::Stop,
};

use crate::{arguments::Samples, console, exit::Exit};

pub(crate) fn run(arguments: &Samples) -> Exit {
    console::made(
        super::in_session(&arguments.machine, |session| written(arguments, &session)),
        arguments.json,
        |seen| serde_json::json!({ "samples": seen }),
        Seen::to_string,
    )
}

fn written(arguments: &Samples, session: &Session<'_>) -> Result<Seen, Stop> {
    let loaded = recognise::load(&arguments.file, &arguments.instead.overrides())?;
    let wanted = SeenSamples {
        evaluation: arguments.evaluation,
        most: arguments.samples,
    };
    pipeline::seen(&loaded, wanted, &arguments.out, session)
}
