//! Runs `strait eval`.

use std::path::Path;

use strait_driver::{
    artifact::{self, Opened},
    diagnostic::Diagnostic,
    eval::{Evaluated, EvaluationRequest, FloatSide, SimulatedSide, eval},
    failure::codes,
    recognise,
    session::Session,
    shown::Shown,
    stop::Stop,
    targets,
};

use crate::{arguments::Eval, console, exit::Exit};

pub(crate) fn run(arguments: &Eval) -> Exit {
    let evaluated = super::in_session(&arguments.executed.machine, |session| {
        let session = session.with_commands(arguments.allow_commands);
        measured(arguments, &arguments.sharing.session(session)?)
    });
    console::made(
        evaluated,
        arguments.json,
        |evaluated| match &evaluated.flips {
            None => serde_json::json!({ "accuracy": evaluated.accuracy }),
            Some(flips) => serde_json::json!({ "accuracy": evaluated.accuracy, "flips": flips }),
        },
        |evaluated| {
            let accuracy = Shown(&evaluated.accuracy).to_string();
            let flips = evaluated.flips.as_ref().map(ToString::to_string);
            accuracy + &flips.unwrap_or_default()
        },
    )
}

fn measured(arguments: &Eval, session: &Session<'_>) -> Result<Evaluated, Stop> {
    let registry = targets::registry([])?;
    let opened = Opened::open(&arguments.executed.artifact, &registry)?;
    let opened = artifact::by(opened, (&arguments.executed.kernels(), true), &registry, session)?;
    let float = arguments.model.as_deref().map(|file| FloatSide {
        file,
        any: arguments.any_model,
    });
    let simulated = arguments.simulated.as_deref().map(|file| {
        Ok::<_, Stop>(SimulatedSide {
            loaded: recognise::load(file, &[])?,
            registry: targets::registry([])?,
        })
    });
    let configuration = arguments.evaluation.as_deref();
    let configuration = configuration.map(|file| Ok::<_, Stop>((file, recognise::load(file, &[])?)));
    let configuration = configuration.transpose()?;
    let mut request = match &configuration {
        None => EvaluationRequest::of(Path::new(""), None, &arguments.metric),
        Some((file, loaded)) => EvaluationRequest::configured(loaded).ok_or_else(|| {
            let message = format!("{} has no [evaluation]", file.display());
            Diagnostic::error(codes::EVALUATION, message)
        })?,
    };
    if let Some(data) = &arguments.data {
        request.instead(data);
    }
    request.flips = arguments.flips.as_deref();
    request.labels = arguments.labels.as_deref().or(request.labels);
    eval(&opened, request, float, simulated.transpose()?, session)
}
