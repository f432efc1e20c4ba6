//! Runs `strait verify`.

use strait_driver::{
    session::Session,
    shown::Shown,
    stop::Stop,
    targets,
    verification::{Verification, VerificationRequest, verify},
};

use crate::{arguments::Verify, console, exit::Exit};

pub(crate) fn run(arguments: &Verify) -> Exit {
    let found = match super::in_session(&arguments.executed.machine, |session| verified(arguments, &session)) {
        Ok(found) => found,
        Err(stop) => return console::stopped(&stop, arguments.json),
    };
    let json = || {
        let mut json = serde_json::json!(found);
        json["sound"] = found.is_sound().into();
        json
    };
    let printed = console::shown(arguments.json, json, || Shown(&found).to_string());
    printed.worse(Exit::Unsound.unless(found.is_sound()))
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
