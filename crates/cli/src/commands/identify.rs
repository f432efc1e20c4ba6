//! Runs `strait identify`.

use strait_driver::{diagnostic::Diagnostic, failure::codes, stop::Stop};
use strait_identify::{Answer, Vectors, VectorsError, document, json};

use crate::{arguments::Identify, console, exit::Exit};

pub(crate) fn run(arguments: &Identify) -> Exit {
    let answers = match identified(arguments) {
        Ok(answers) => answers,
        Err(stop) => return console::stopped(&stop, arguments.json),
    };
    let (file, tolerance) = (arguments.vectors.display().to_string(), arguments.tolerate);
    let text = || document(&file, &answers, tolerance);
    let printed = console::shown(arguments.json, || json(&answers, tolerance), text);
    printed.worse(Exit::Failed.unless(answers.iter().all(|answer| answer.is_within(tolerance))))
}

fn identified(arguments: &Identify) -> Result<Vec<Answer>, Stop> {
    let file = arguments.vectors.display().to_string();
    let vectors = Vectors::read(&arguments.vectors).map_err(|error| wrong(&error))?;
    let names: Vec<&str> = vectors.layers.iter().map(|layer| layer.name.as_str()).collect();
    if let Some(missing) = arguments.layer.iter().find(|asked| !names.contains(&asked.as_str())) {
        let message = format!("{file} has no layer {missing:?}");
        return Err(Diagnostic::error(codes::VECTORS, message)
            .help(format!("it has {}", names.join(", ")))
            .into());
    }
    let asked = |name: &String| arguments.layer.is_empty() || arguments.layer.contains(name);
    let layers = vectors.layers.iter().filter(|layer| asked(&layer.name));
    layers
        .map(|layer| strait_identify::identify(&file, layer).map_err(|error| wrong(&error)))
        .collect()
}

/// The error for recorded vectors that cannot be used. It has the same form as other errors about files.
pub(crate) fn wrong(error: &VectorsError) -> Stop {
    let array = error
        .array
        .as_ref()
        .map(|array| format!(", {array}"))
        .unwrap_or_default();
    let message = format!("{}{array}: {}", error.file, error.wrong);
    Diagnostic::error(codes::VECTORS, message)
        .help(format!("right is: {}", error.right))
        .into()
}
