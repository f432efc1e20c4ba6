//! Runs the subcommands of `strait plugin`.

mod check;
mod lock;
mod names;
mod new;
mod subject;

use crate::{arguments::PluginCommand, exit::Exit};

pub(crate) fn run(command: &PluginCommand) -> Exit {
    match command {
        PluginCommand::Check(arguments) => check::run(arguments),
        PluginCommand::Lock(arguments) => lock::run(arguments),
        PluginCommand::New(arguments) => new::run(arguments),
    }
}
