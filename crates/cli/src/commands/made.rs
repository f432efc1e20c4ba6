//! Runs `strait completions` and `strait man`, whose output is made from the declaration of the command line.

use std::{fs, io, path::Path};

use clap::{Command, CommandFactory, builder::PossibleValuesParser};
use strait_driver::{diagnostic::Diagnostic, failure::codes};
use strait_target::Registry;

use crate::{
    arguments::{Arguments, Completions, Man},
    console,
    exit::Exit,
};

/// The arguments whose values are ids of targets, each with the command that has it.
const IDS: [(&[&str], &str); 4] = [
    (&["compile"], "target"),
    (&["analyze"], "target"),
    (&["config", "show"], "target"),
    (&["targets"], "id"),
];

pub(crate) fn completions(arguments: &Completions) -> Exit {
    let registry = Registry::builtin().unwrap_or_default();
    let ids: Vec<String> = registry.entries().map(|(id, _)| id.to_owned()).collect();
    let with_ids = |command, (path, argument): &(&[&str], &'static str)| with_ids(command, path, argument, &ids);
    let mut command = IDS.iter().fold(Arguments::command(), with_ids);
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "strait", &mut script);
    console::print(&String::from_utf8_lossy(&script))
}

/// Lists the ids of the targets in this program as the values of an argument. This is only for the script, in which a
/// list is a proposal: targets that are files of the user have other ids.
fn with_ids(command: Command, path: &[&str], argument: &'static str, ids: &[String]) -> Command {
    match path {
        [] => command.mut_arg(argument, |argument| {
            argument.value_parser(PossibleValuesParser::new(ids.to_vec()))
        }),
        [name, rest @ ..] => command.mut_subcommand(name, |inner| with_ids(inner, rest, argument, ids)),
    }
}

pub(crate) fn man(arguments: &Man) -> Exit {
    let mut command = Arguments::command();
    command.build();
    let folder = &arguments.folder;
    let written = fs::create_dir_all(folder).and_then(|()| pages(&command, "strait", folder));
    match written {
        Ok(pages) => console::print(&format!("{pages} pages in {}", folder.display())),
        Err(error) => {
            let message = format!("{} cannot be written: {error}", folder.display());
            console::stopped(&Diagnostic::error(codes::OUTPUT, message).into(), false)
        }
    }
}

/// Writes the page of a command, and those of the commands below it. Returns their number.
fn pages(command: &Command, name: &str, folder: &Path) -> io::Result<usize> {
    let own = command.clone().name(name.to_owned()).bin_name(name.to_owned());
    let mut text = Vec::new();
    clap_mangen::Man::new(own.display_name(name)).render(&mut text)?;
    fs::write(folder.join(format!("{name}.1")), text)?;
    let below = command.get_subcommands();
    let shown = below.filter(|below| !below.is_hide_set() && below.get_name() != "help");
    shown
        .map(|below| pages(below, &format!("{name}-{}", below.get_name()), folder))
        .try_fold(1, |sum, pages| Ok(sum + pages?))
}
