//! Runs `strait targets`.

use strait_driver::{catalogue, stop::Stop, targets};

use crate::{arguments::Targets, console, exit::Exit};

pub(crate) fn run(arguments: &Targets) -> Exit {
    match shown(arguments) {
        Ok((_, json, end)) if arguments.json => console::print_json(&json).worse(end),
        Ok((text, _, end)) => console::print(&text).worse(end),
        Err(stop) => console::stopped(&stop, arguments.json),
    }
}

/// What the command shows, as text for people and as JSON for programs, and the exit code.
fn shown(arguments: &Targets) -> Result<(String, serde_json::Value, Exit), Stop> {
    let files = arguments.file.iter().map(AsRef::as_ref);
    Ok(match (&arguments.id, &arguments.against) {
        (None, _) => {
            let all = catalogue::list(&targets::registry(files)?);
            (all.text(console::width()), serde_json::json!(all), Exit::Done)
        }
        (Some(id), None) => {
            let one = catalogue::sheet(&targets::registry(files)?, id)?;
            (one.text(console::width()), serde_json::json!(one), Exit::Done)
        }
        (Some(id), Some(old)) => {
            let found = catalogue::against(files, id, old)?;
            let end = Exit::Gate.unless(found.comparison.agrees);
            (found.text(), serde_json::json!(found), end)
        }
    })
}
