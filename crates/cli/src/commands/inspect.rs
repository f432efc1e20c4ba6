//! Runs `strait inspect`.

use strait_driver::{inspect, shown::Shown};

use crate::{
    arguments::{GraphForm, Inspect},
    console,
    exit::Exit,
};

pub(crate) fn run(arguments: &Inspect) -> Exit {
    if arguments.fusions {
        return match inspect::fusions(&arguments.subject, arguments.pattern.as_deref()) {
            Ok(fusions) if arguments.json => console::print_json(&serde_json::json!(fusions)),
            Ok(fusions) => console::print(&Shown(&fusions).to_string()),
            Err(stop) => console::stopped(&stop, arguments.json),
        };
    }
    if arguments.quant {
        return match inspect::quantization(&arguments.subject, arguments.pattern.as_deref()) {
            Ok(found) if arguments.json => console::print_json(&serde_json::json!(found)),
            Ok(found) => console::print(&Shown(&found).to_string()),
            Err(stop) => console::stopped(&stop, arguments.json),
        };
    }
    let inspected = match inspect::open(&arguments.subject, arguments.pattern.as_deref()) {
        Ok(inspected) => inspected,
        Err(stop) => return console::stopped(&stop, arguments.json),
    };
    match arguments.graph {
        Some(GraphForm::Text) => console::print(&inspected.text()),
        Some(GraphForm::Dot) => console::print(&inspected.dot()),
        None if arguments.json => console::print_json(&serde_json::json!(inspected.summary())),
        None => console::print(&Shown(&inspected.summary()).to_string()),
    }
}
