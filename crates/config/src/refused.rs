//! Errors of an input's table, with the key that is wrong.

use std::borrow::Cow;

/// Why an input cannot be as the configuration says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// The key of the input's table that is wrong.
    pub(super) key: &'static str,
    pub(super) message: Cow<'static, str>,
    pub(super) help: Cow<'static, str>,
}

/// Makes a [`Refused`].
pub(super) fn refused(
    key: &'static str,
    message: impl Into<Cow<'static, str>>,
    help: impl Into<Cow<'static, str>>,
) -> Refused {
    Refused {
        key,
        message: message.into(),
        help: help.into(),
    }
}
