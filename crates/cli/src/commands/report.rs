//! Runs `strait report`.

use serde_json::json;
use strait_driver::page::{self, Request, Written};

use crate::{arguments::ReportPage, console, exit::Exit};

pub(crate) fn run(arguments: &ReportPage) -> Exit {
    let written = page::write(&Request {
        artifact: &arguments.artifact,
        analysis: arguments.analysis.as_deref(),
        out: arguments.out.as_deref(),
        redact: arguments.redact,
        node_data: arguments.node_data.as_deref(),
        graph: arguments.graph.as_deref(),
        qdq: arguments.qdq.as_deref(),
    });
    console::made(
        written,
        arguments.json,
        |written| json!({ "page": written.file, "bytes": written.bytes, "others": written.others }),
        text,
    )
}

fn text(written: &Written) -> String {
    let mut text = format!("{}: {} bytes", written.file.display(), written.bytes);
    for other in &written.others {
        text += &format!("\n{}", other.display());
    }
    text
}
