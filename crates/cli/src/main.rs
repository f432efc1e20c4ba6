//! The program `strait` with the targets in the box.

use strait_builtin as _;

fn main() -> std::process::ExitCode {
    strait_cli::main()
}
