//! `strait eval`

use strait_driver::{
    artifact::Opened,
    config,
    eval::{FloatSide, SimulatedSide, eval},
    evaluation::Accuracy,
    recognise,
    session::Session,
    stop::Stop,
    targets,
};

use crate::{arguments::Eval, console, exit::Exit, watch::Watch};

pub(crate) fn run(arguments: &Eval) -> Exit {
    let watch = Watch::new();
    let result = super::session(&arguments.executed.machine, &watch).and_then(|session| measured(arguments, &session));
    drop(watch);
    match result {
        Ok(accuracy) if arguments.json => console::print_json(&serde_json::json!({ "accuracy": accuracy })),
        Ok(accuracy) => console::print(&accuracy.to_string()),
        Err(stop) => console::stopped(&stop, arguments.json),
    }
}

fn measured(arguments: &Eval, session: &Session<'_>) -> Result<Accuracy, Stop> {
    let registry = targets::registry([])?;
    let opened = Opened::open(&arguments.executed.artifact, &registry)?;
    let opened = opened.by(&arguments.executed.kernels(), &registry, session)?;
    let float = arguments.model.as_deref().map(|file| FloatSide {
        file,
        any: arguments.any_model,
    });
    let simulated = arguments.simulated.as_deref().map(|file| {
        recognise::configuration(file)?;
        Ok::<_, Stop>(SimulatedSide {
            loaded: config::load(file, &[])?,
            registry: targets::registry([])?,
        })
    });
    let labels = arguments.labels.as_deref();
    let metrics = &arguments.metric;
    eval(
        &opened,
        &arguments.data,
        labels,
        metrics,
        float,
        simulated.transpose()?,
        session,
    )
}
