//! `strait targets`

use strait_driver::{catalogue, stop::Stop, targets};

use crate::{arguments::Targets, console, exit::Exit};

pub(crate) fn run(arguments: &Targets) -> Exit {
    match shown(arguments) {
        Ok((_, json)) if arguments.json => console::print_json(&json),
        Ok((text, _)) => console::print(&text),
        Err(stop) => console::stopped(&stop, arguments.json),
    }
}

/// For a person, and for a program.
fn shown(arguments: &Targets) -> Result<(String, serde_json::Value), Stop> {
    let registry = targets::registry(arguments.file.iter().map(AsRef::as_ref))?;
    Ok(match &arguments.id {
        None => {
            let all = catalogue::list(&registry)?;
            (all.text(console::width()), serde_json::json!(all))
        }
        Some(id) => {
            let one = catalogue::sheet(&registry, id)?;
            (one.text(console::width()), serde_json::json!(one))
        }
    })
}
