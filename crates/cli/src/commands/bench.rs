//! Runs `strait bench`.

use std::{io, time::Duration};

use serde_json::json;
use strait_driver::{
    artifact::{self, Opened},
    bench::{Bench as Ready, Speed, milliseconds},
    session::Session,
    shown::Shown,
    stop::Stop,
    targets,
};

use crate::{arguments::Bench, console, exit::Exit};

pub(crate) fn run(arguments: &Bench) -> Exit {
    let machine = &arguments.executed.machine;
    if arguments.stdin {
        return match super::in_session(machine, |session| ready(arguments, &session)) {
            Ok(bench) => by_line(bench),
            Err(stop) => console::stopped(&stop, false),
        };
    }
    let measured = super::in_session(machine, |session| measured(arguments, &session));
    console::made(
        measured,
        arguments.json,
        |speed| json!(speed),
        |speed| Shown(speed).to_string(),
    )
}

fn ready(arguments: &Bench, session: &Session<'_>) -> Result<Ready, Stop> {
    let registry = targets::registry([])?;
    let opened = Opened::open(&arguments.executed.artifact, &registry)?;
    let opened = artifact::by(opened, (&arguments.executed.kernels(), true), &registry, session)?;
    Ready::new(&opened, session)
}

fn measured(arguments: &Bench, session: &Session<'_>) -> Result<Speed, Stop> {
    let time = Duration::from_secs_f64(arguments.seconds);
    ready(arguments, session)?.measure(time, arguments.profile, session)
}

/// Runs once for each line of standard input, and prints how long each run took, in milliseconds.
fn by_line(mut bench: Ready) -> Exit {
    for line in io::stdin().lines() {
        if let Err(error) = line {
            console::explain(&format!("standard input cannot be read: {error}"));
            return Exit::Failed;
        }
        let time = match bench.run() {
            Ok(time) => time,
            Err(stop) => return console::stopped(&stop, false),
        };
        let printed = console::print(&format!("{:.4}", milliseconds(time)));
        if printed != Exit::Done {
            return printed;
        }
    }
    Exit::Done
}
