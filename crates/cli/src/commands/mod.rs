//! The commands, one file each.

mod analyze;
mod attempt;
mod bench;
mod calibrate;
mod check;
mod compile;
mod config;
mod eval;
mod explain;
mod identify;
mod init;
mod inspect;
mod made;
mod params;
mod plugin;
mod report;
mod run;
mod samples;
mod targets;
mod verify;

use strait_driver::{
    diagnostic::Diagnostic,
    failure::codes,
    session::{Session, threads},
    stop::Stop,
};
use strait_kernels::{Context, Isa};

use crate::{
    arguments::{Arguments, Command, Machine},
    exit::Exit,
    watch::Watch,
};

/// Runs the command that was asked for.
pub(crate) fn run(arguments: &Arguments) -> Exit {
    match &arguments.command {
        Command::Init(arguments) => init::run(arguments),
        Command::Compile(arguments) => compile::run(arguments),
        Command::CheckModel(arguments) => check::run(arguments),
        Command::Analyze(arguments) => analyze::run(arguments),
        Command::Try(arguments) => attempt::run(arguments),
        Command::Params(arguments) => params::run(&arguments.command),
        Command::Calibrate(arguments) => calibrate::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Samples(arguments) => samples::run(arguments),
        Command::Eval(arguments) => eval::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Report(arguments) => report::run(arguments),
        Command::Targets(arguments) => targets::run(arguments),
        Command::Identify(arguments) => identify::run(arguments),
        Command::Plugin(arguments) => plugin::run(&arguments.command),
        Command::Config(arguments) => config::run(&arguments.command),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Completions(arguments) => made::completions(arguments),
        Command::Man(arguments) => made::man(arguments),
    }
}

/// Does the work of a command in a session, and shows its progress until the work is over.
fn in_session<T>(machine: &Machine, work: impl FnOnce(Session<'_>) -> Result<T, Stop>) -> Result<T, Stop> {
    let watch = Watch::new();
    let threads = threads(machine.threads, &watch);
    let session = Session::new(threads, context(machine)?, &watch);
    work(session.with_limits(machine.limits()))
}

/// The instruction set that `--isa` or `STRAIT_ISA` names, or else the best one that the machine has.
fn context(machine: &Machine) -> Result<Context, Stop> {
    let asked = machine.isa.clone().or_else(|| std::env::var("STRAIT_ISA").ok());
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else {
        return Ok(Context::detect());
    };
    let isa = Isa::available().find(|isa| isa.name() == asked).ok_or_else(|| {
        let names: Vec<&str> = Isa::available().map(Isa::name).collect();
        let message = format!("this machine has no instruction set called `{asked}`");
        Diagnostic::error(codes::INSTRUCTION_SET, message).help(format!("it has {}", names.join(", ")))
    })?;
    Ok(Context::with_isa(isa))
}
