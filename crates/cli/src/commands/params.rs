//! Runs `strait params`.

use serde_json::json;
use strait_driver::imported::import;

use crate::{
    arguments::{ParamsCommand, Tool},
    console,
    exit::Exit,
};

pub(crate) fn run(command: &ParamsCommand) -> Exit {
    let ParamsCommand::Import(arguments) = command;
    let imported = import(&arguments.file, arguments.from.map(Tool::format), &arguments.output);
    console::made(
        imported,
        arguments.json,
        |imported| json!({ "params": arguments.output, "imported": imported }),
        |imported| format!("{}: {imported}", arguments.output.display()),
    )
}
