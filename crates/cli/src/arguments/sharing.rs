//! Options for processes that share the work of one command.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use strait_driver::session::{Session, Share};
use strait_driver::stop::Stop;

/// Options for processes that share the work. Results do not depend on them.
#[derive(Debug, Args)]
pub(crate) struct Sharing {
    /// Share the work on samples with other processes: this one works on the I-th of N equal parts, counted from 1, and all
    /// of them have the result of one process [see: docs/shares.md]
    #[arg(long, value_name = "I/N", value_parser = share, requires = "exchange", visible_alias = "shard")]
    pub(crate) share: Option<Share>,
    /// Folder in which the processes exchange their results: empty at first, and the same for all of them
    #[arg(long, value_name = "DIR", requires = "share")]
    pub(crate) exchange: Option<PathBuf>,
    /// Give up if another process has delivered nothing for so many seconds
    #[arg(long, value_name = "SECONDS", default_value = "3600", requires = "share")]
    pub(crate) wait: u64,
}

impl Sharing {
    /// The session, whose work is shared if the options say so.
    pub(crate) fn session<'a>(&self, session: Session<'a>) -> Result<Session<'a>, Stop> {
        match (self.share, &self.exchange) {
            (Some(share), Some(folder)) => session.with_share(share, folder, Duration::from_secs(self.wait)),
            _ => Ok(session),
        }
    }
}

/// Parses a share of the samples, such as `2/8`.
pub(crate) fn share(text: &str) -> Result<Share, String> {
    let wrong = || "a share is I/N, as 2/8 for the second of eight".to_owned();
    let (part, parts) = text.split_once('/').ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
    let (part, parts) = (number(part)?, number(parts)?);
    Share::new(part, parts).ok_or_else(|| match parts {
        0 => wrong(),
        parts => format!("there is no share {part} of {parts}; they are counted from 1/{parts} to {parts}/{parts}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_counted_from_one() {
        assert_eq!(share("2/8"), Share::new(2, 8).ok_or_else(String::new));
        for (text, expected) in [
            ("9/8", "there is no share 9 of 8; they are counted from 1/8 to 8/8"),
            ("0/8", "there is no share 0 of 8"),
            ("1/0", "a share is I/N"),
            ("2", "a share is I/N"),
            ("-1/2", "a share is I/N"),
            ("a/b", "a share is I/N"),
        ] {
            let error = share(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
