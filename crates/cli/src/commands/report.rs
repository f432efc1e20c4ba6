//! Runs `strait report`.

use serde_json::json;
use strait_driver::page::{self, Request};

use crate::{arguments::ReportPage, console, exit::Exit};

pub(crate) fn run(arguments: &ReportPage) -> Exit {
    let written = page::write(&Request {
        artifact: &arguments.artifact,
        analysis: arguments.analysis.as_deref(),
        out: arguments.out.as_deref(),
        redact: arguments.redact,
    });
    console::made(
        written,
        arguments.json,
        |written| json!({ "page": written.file, "bytes": written.bytes }),
        |written| format!("{}: {} bytes", written.file.display(), written.bytes),
    )
}
