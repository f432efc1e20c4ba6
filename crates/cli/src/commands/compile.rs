//! Runs `strait compile`.

use std::mem::ManuallyDrop;
use std::path::Path;

use serde_json::json;
use strait_driver::{
    config::{self, Loaded, Override, SCHEMA},
    diagnostic::Diagnostics,
    dialect,
    pipeline::{self, Compiled},
    recognise, session,
    shown::{Details, Next, Shown},
    targets,
};

use crate::{arguments::Compile, console, exit::Exit, volume};

pub(crate) fn run(arguments: &Compile) -> Exit {
    if arguments.rules {
        let rules = super::in_session(&arguments.machine, |_| {
            Ok(dialect::rules(&loaded(arguments)?, &targets::registry([])?)?)
        });
        return match rules {
            Ok(rules) => console::print(&rules),
            Err(stop) => console::stopped(&stop, arguments.json),
        };
    }
    let done = super::in_session(&arguments.machine, |session| {
        let session = arguments
            .sharing
            .session(session.with_commands(arguments.allow_commands))?;
        let compiled = pipeline::compile(&loaded(arguments)?, targets::registry([])?, &session)?;
        Ok((compiled, session.phases()))
    });
    let (compiled, phases) = match done {
        Ok(done) => done,
        Err(stop) => return console::stopped(&stop, arguments.json),
    };
    // The report of a large model takes time to free, and the process ends here.
    let compiled = ManuallyDrop::new(compiled);
    let artifact = |one: &Compiled| json!({ "target": one.target, "folder": one.folder, "digest": one.digest, "report": one.report });
    let json = || json!({ "phases": phases, "artifacts": compiled.iter().map(artifact).collect::<Vec<_>>() });
    if volume::is_verbose() {
        console::explain(&session::shown(&phases));
    }
    let printed = console::shown(arguments.json, json, || text(&compiled, arguments));
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

fn loaded(arguments: &Compile) -> Result<Loaded, Diagnostics> {
    let overrides = overrides(arguments);
    match arguments.configuration() {
        Some(file) => recognise::load(file, &overrides),
        None => {
            let text = format!("schema = {SCHEMA}\n");
            config::parse("the command line", text, Path::new(""), &overrides)
        }
    }
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

fn text(compiled: &[Compiled], arguments: &Compile) -> String {
    let one = |one: &Compiled| {
        let (screen, folder, digest) = (Shown(&one.report), one.folder.display(), &one.digest);
        let place = format!("artifact: {folder}\ndigest: {digest}\n");
        if volume::is_quiet() {
            return place;
        }
        let rest = if arguments.all || volume::is_verbose() {
            format!("\n{}", Details(&one.report))
        } else {
            "`--all` shows each layer and on what evidence it rests\n".to_owned()
        };
        let configuration = arguments.configuration();
        let next = Next {
            report: &one.report,
            configuration: configuration.map(|file| file.display().to_string()),
            artifact: folder.to_string(),
        };
        format!("{screen}\n{place}{rest}{next}")
    };
    compiled.iter().map(one).collect::<Vec<_>>().join("\n")
}
