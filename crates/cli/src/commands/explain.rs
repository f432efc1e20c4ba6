//! Runs `strait explain`.

use serde_json::json;
use strait_explain::{all_as_text, bare, entry_as_text, find, groups, similar};

use crate::{arguments::Explain, console, exit::Exit};

pub(crate) fn run(arguments: &Explain) -> Exit {
    let Some(code) = &arguments.code else {
        return console::shown(arguments.json, || json!({ "groups": groups() }), all_as_text);
    };
    let found = find(code);
    if found.is_empty() {
        console::explain(&unknown(code));
        return Exit::Usage;
    }
    let text = || {
        found
            .iter()
            .map(|entry| entry_as_text(entry))
            .collect::<Vec<_>>()
            .join("\n")
    };
    console::shown(arguments.json, || json!({ "entries": found }), text)
}

fn unknown(code: &str) -> String {
    let near = similar(code);
    let advice = match near.is_empty() {
        true => "`strait explain` lists all codes; a target's own code can have further ones".to_owned(),
        false => format!(
            "did you mean {}?",
            near.iter()
                .map(|code| format!("`{code}`"))
                .collect::<Vec<_>>()
                .join(" or ")
        ),
    };
    format!("error: there is no code `{}`\n\n{advice}", bare(code))
}
