//! The repository's own commands, started as `cargo xtask COMMAND`.
//!
//! This crate has no dependencies at all, neither on other packages of the workspace nor on others. It starts cargo,
//! the program `strait` and Python, and it reads files. Each command has a module.

mod accuracy;
mod bench;
mod bless;
mod compile;
mod dist;
mod figures;
mod oracles;
mod process;
mod python;
mod stress;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

/// Why a command did not succeed. It is a message for people, or an exit code if the reason has already been printed.
pub(crate) enum Stop {
    /// Something went wrong in this crate. The text says what went wrong and, if possible, what to do.
    Failed(String),
    /// A process that this command started ended with this exit code, and has printed the reason.
    Code(u8),
    /// The command line does not make sense.
    Usage(String),
}

impl From<String> for Stop {
    fn from(message: String) -> Self {
        Stop::Failed(message)
    }
}

/// Exit codes as in `strait` itself: 0 done, 1 failed, 2 usage.
type Outcome = Result<(), Stop>;

struct Command {
    name: &'static str,
    summary: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Outcome,
}

const COMMANDS: &[Command] = &[
    compile::COMMAND,
    test::COMMAND,
    tidy::COMMAND,
    bless::COMMAND,
    oracles::COMMAND,
    accuracy::COMMAND,
    bench::COMMAND,
    dist::COMMAND,
    stress::COMMAND,
];

fn overview() -> String {
    let mut text = String::from("Usage: cargo xtask COMMAND [ARGUMENTS]\n\nCommands:\n");
    for command in COMMANDS {
        text += &format!("  {:<10} {}\n", command.name, command.summary);
    }
    text + "\n`cargo xtask COMMAND --help` says more."
}

fn dispatch(arguments: &[String]) -> Outcome {
    let Some((name, rest)) = arguments.split_first() else {
        return Err(Stop::Usage(overview()));
    };
    if matches!(name.as_str(), "--help" | "-h" | "help") {
        println!("{}", overview());
        return Ok(());
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return Err(Stop::Usage(format!("there is no command `{name}`\n\n{}", overview())));
    };
    // Arguments after `--` are for another program, and so is a `--help` among them.
    if rest
        .iter()
        .take_while(|a| *a != "--")
        .any(|a| a == "--help" || a == "-h")
    {
        println!("{}", command.help.trim());
        return Ok(());
    }
    (command.run)(rest)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Code(code)) => ExitCode::from(code),
        Err(Stop::Failed(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::from(1)
        }
        Err(Stop::Usage(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::from(2)
        }
    }
}
