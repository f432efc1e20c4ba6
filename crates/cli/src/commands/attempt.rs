//! Runs `strait try`.

use std::num::NonZeroUsize;

use serde_json::json;
use strait_driver::{
    pipeline::{self, Changes},
    recognise, targets,
};

use crate::{arguments::Try, console, exit::Exit};

pub(crate) fn run(arguments: &Try) -> Exit {
    let revised = super::in_session(&arguments.machine, |session| {
        let session = session.with_commands(arguments.allow_commands);
        let [before, after] = arguments.overrides();
        let [before, after] = [before, after].map(|set| recognise::load(&arguments.file, &set));
        let (before, after) = (before?, after?);
        let samples = NonZeroUsize::try_from(arguments.samples).unwrap_or(NonZeroUsize::MIN);
        let asked = (arguments.set.clone(), samples);
        let revised = pipeline::revised([&before, &after], || Ok(targets::registry([])?), asked, &session)?;
        Ok((revised, session.phases()))
    });
    console::made(
        revised,
        arguments.json,
        |(revised, phases)| json!({ "phases": phases, "changes": revised }),
        |(revised, _)| {
            let layers = arguments.layers.get() as usize;
            Changes { revised, layers }.to_string()
        },
    )
}
