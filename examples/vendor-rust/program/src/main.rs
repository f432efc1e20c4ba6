//! The program `strait` with the target acme-edge in it.

use acme_edge_target as _;

fn main() -> std::process::ExitCode {
    strait_cli::main()
}
