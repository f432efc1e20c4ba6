//! Makes the answers to the host: status codes and reports. Panics are caught here.

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

use strait_plugin_interface::{
    ERROR, Host, INTERNAL, INVALID_ARGUMENT, NO_NODE, OK, PANIC, Status, UNSUPPORTED, received,
};
use strait_target::TargetError;

/// Why a call fails.
pub(super) struct Failure {
    status: Status,
    message: String,
}

impl Failure {
    /// A failure that is the host's fault.
    pub(super) fn argument(message: impl Into<String>) -> Failure {
        Failure {
            status: INVALID_ARGUMENT,
            message: message.into(),
        }
    }

    /// A failure because the target does not support what the host asks for.
    pub(super) fn unsupported(message: impl Into<String>) -> Failure {
        Failure {
            status: UNSUPPORTED,
            message: message.into(),
        }
    }

    /// A failure that is the target's fault.
    pub(super) fn internal(message: impl ToString) -> Failure {
        Failure {
            status: INTERNAL,
            message: message.to_string(),
        }
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Failure {
        match &error {
            TargetError::Unsupported(_) | TargetError::NoForm { .. } => Failure::unsupported(error.to_string()),
            _ => Failure::internal(error),
        }
    }
}

/// Runs `call` and returns the status that the host gets. The message of a failure, or of a panic, is reported to the
/// host.
pub(super) fn answer(host: *const Host, call: impl FnOnce() -> Result<(), Failure>) -> Status {
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return OK,
        Ok(Err(failure)) => failure,
        Err(payload) => {
            let message = format!("it panicked: {}", said(&*payload));
            // Dropping the panic's payload may panic again.
            quietly(move || drop(payload));
            Failure { status: PANIC, message }
        }
    };
    report(host, &failure.message);
    failure.status
}

/// Runs `call` and catches panics.
pub(super) fn quietly(call: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
        mem::forget(payload);
    }
}

/// The message of a panic.
fn said(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

fn report(host: *const Host, message: &str) {
    // SAFETY: `host` is null, or it points to a struct that is valid until the call returns.
    let Some(host) = (unsafe { received(host) }) else {
        return;
    };
    if let Some(report) = host.report {
        // SAFETY: the function and the context come from the host, and the host copies the text.
        unsafe { report(host.context, ERROR, NO_NODE, message.as_ptr(), message.len() as u64) };
    }
}
