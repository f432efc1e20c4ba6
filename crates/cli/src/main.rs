//! The program `strait`, with the targets of this repository.

use strait_builtin as _;

fn main() -> std::process::ExitCode {
    strait_cli::main()
}
