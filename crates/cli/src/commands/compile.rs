//! Runs `strait compile`.

use std::path::Path;

use serde_json::json;
use strait_driver::{
    config::{self, Loaded, Override, SCHEMA},
    dialect,
    pipeline::{self, Compiled},
    recognise,
    session::Session,
    shown::{Details, Shown},
    stop::Stop,
    targets,
};

use crate::{arguments::Compile, console, exit::Exit, watch::Watch};

pub(crate) fn run(arguments: &Compile) -> Exit {
    let watch = Watch::new();
    let session = match super::session(&arguments.machine, &watch) {
        Ok(session) => session.with_commands(arguments.allow_commands),
        Err(stop) => return console::stopped(&stop, arguments.json),
    };
    if arguments.rules {
        return match loaded(arguments).and_then(|loaded| Ok(dialect::rules(&loaded, &targets::registry([])?)?)) {
            Ok(rules) => console::print(&rules),
            Err(stop) => console::stopped(&stop, arguments.json),
        };
    }
    let result = compile(arguments, &session);
    let phases = session.phases();
    drop(session);
    drop(watch);
    let compiled = match result {
        Ok(compiled) => compiled,
        Err(stop) => return console::stopped(&stop, arguments.json),
    };
    let printed = if arguments.json {
        let artifacts: Vec<_> = compiled
            .iter()
            .map(
                |one| json!({ "target": one.target, "folder": one.folder, "digest": one.digest, "report": one.report }),
            )
            .collect();
        console::print_json(&json!({ "phases": phases, "artifacts": artifacts }))
    } else {
        console::print(&text(&compiled, arguments.all))
    };
    let failed = compiled
        .iter()
        .flat_map(|one| one.report.failed_gates().map(move |gate| (one, gate)));
    let failed: Vec<String> = failed
        .map(|(one, gate)| format!("gate {} of {}: {}", gate.gate, one.target, gate.text))
        .collect();
    if printed == Exit::Done && !failed.is_empty() {
        console::explain(&failed.join("\n"));
        return Exit::Gate;
    }
    printed
}

fn compile(arguments: &Compile, session: &Session<'_>) -> Result<Vec<Compiled>, Stop> {
    pipeline::compile(&loaded(arguments)?, targets::registry([])?, session)
}

fn loaded(arguments: &Compile) -> Result<Loaded, Stop> {
    let overrides = overrides(arguments);
    Ok(match arguments.configuration() {
        Some(file) => {
            recognise::configuration(file)?;
            config::load(file, &overrides)?
        }
        None => config::parse(
            "the command line",
            format!("schema = {SCHEMA}\n"),
            Path::new(""),
            &overrides,
        )?,
    })
}

/// The keys of the configuration that arguments set. `--set` comes last, so it overrides the other arguments.
fn overrides(arguments: &Compile) -> Vec<Override> {
    let targets = (!arguments.target.is_empty()).then(|| Override::targets(arguments.target.clone()));
    let out = arguments.out.as_ref().map(Override::output);
    targets
        .into_iter()
        .chain(out)
        .chain(arguments.instead.overrides())
        .collect()
}

fn text(compiled: &[Compiled], all: bool) -> String {
    let one = |one: &Compiled| {
        let (screen, folder, digest) = (Shown(&one.report), one.folder.display(), &one.digest);
        let rest = if all {
            format!("\n{}", Details(&one.report))
        } else {
            "`--all` shows each layer and on what evidence it rests\n".to_owned()
        };
        format!("{screen}\nartifact: {folder}\ndigest: {digest}\n{rest}")
    };
    compiled.iter().map(one).collect::<Vec<_>>().join("\n")
}
