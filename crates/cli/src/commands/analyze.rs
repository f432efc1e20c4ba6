//! Runs `strait analyze`.

use serde_json::json;
use strait_driver::{
    pipeline::{self, AnalysisRequest},
    recognise,
    shown::WorstLayers,
    targets,
};

use crate::{arguments::Analyze, console, exit::Exit};

pub(crate) fn run(arguments: &Analyze) -> Exit {
    let analysed = super::in_session(&arguments.machine, |session| {
        let session = arguments
            .sharing
            .session(session.with_commands(arguments.allow_commands))?;
        let loaded = recognise::load(&arguments.file, &arguments.overrides())?;
        let request = AnalysisRequest {
            samples: arguments.samples.map(|samples| samples.get() as usize),
            rules: arguments.rules as usize,
        };
        let analysis = pipeline::analyze(&loaded, targets::registry([])?, request, &session)?;
        Ok((analysis, session.phases()))
    });
    console::made(
        analysed,
        arguments.json,
        |(analysis, phases)| json!({ "phases": phases, "analysis": analysis }),
        |(analysis, _)| {
            let layers = arguments.layers.get() as usize;
            WorstLayers { analysis, layers }.to_string()
        },
    )
}
