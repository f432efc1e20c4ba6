//! Runs `strait plugin lock`.

use strait_driver::lock;

use crate::{arguments::Lock, console, exit::Exit};

pub(crate) fn run(arguments: &Lock) -> Exit {
    match lock::lock(&arguments.file) {
        Ok(locked) => {
            let lines = locked.iter().map(|one| format!("{}: {}", one.path, one.sha256));
            console::print(&lines.collect::<Vec<_>>().join("\n"))
        }
        Err(stop) => console::stopped(&stop, false),
    }
}
