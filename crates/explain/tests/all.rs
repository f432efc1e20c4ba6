//! Tests of the texts about codes. `STRAIT_BLESS=1` rewrites the page.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod complete;
