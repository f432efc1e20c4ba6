//! Runs `strait verify`.

use strait_driver::{
    session::Session,
    shown::Shown,
    stop::Stop,
    targets,
    verification::{Verification, VerificationRequest, verify},
};

use crate::{arguments::Verify, console, exit::Exit, watch::Watch};

pub(crate) fn run(arguments: &Verify) -> Exit {
    let watch = Watch::new();
    let result = super::session(&arguments.executed.machine, &watch).and_then(|session| verified(arguments, &session));
    drop(watch);
    let found = match result {
        Ok(found) => found,
        Err(stop) => return console::stopped(&stop, arguments.json),
    };
    let printed = if arguments.json {
        let mut json = serde_json::json!(found);
        json["sound"] = found.is_sound().into();
        console::print_json(&json)
    } else {
        console::print(&Shown(&found).to_string())
    };
    match printed {
        Exit::Done if !found.is_sound() => Exit::Unsound,
        printed => printed,
    }
}

fn verified(arguments: &Verify, session: &Session<'_>) -> Result<Verification, Stop> {
    let registry = targets::registry(arguments.file.iter().map(AsRef::as_ref))?;
    let request = VerificationRequest {
        data: arguments.data.clone(),
        samples: arguments.samples,
        seed: arguments.seed,
        expect: arguments.expect,
        kernels: arguments.executed.kernels(),
    };
    verify(&arguments.executed.artifact, &registry, &request, session)
}
