//! `cargo xtask test`: runs everything that CI runs, cheapest steps first.

use crate::{Command, Outcome, Stop, process, tidy, workspace};
use std::time::{Duration, Instant};

pub(crate) const COMMAND: Command = Command {
    name: "test",
    summary: "everything CI runs: format, tidy, lints, documentation, tests",
    help: HELP,
    run,
};

const HELP: &str = "
Runs, in this order, going on after a failure:
  format    rustfmt --check on every Rust file, whether or not a `mod` line leads to it
  tidy      the architecture's invariants (cargo xtask tidy)
  lints     cargo clippy on all targets, warnings are errors
  docs      cargo doc without warnings
  tests     cargo nextest where it is installed, else cargo test; among them: the generated documents are current
  doctests  the examples in the documentation
  platforms cargo check for the other platforms whose standard library is installed (rustup target add …)
  features  cargo check of the library `strait` with nothing but running artifacts
  packages  cargo package of what is published, without building it again

Usage: cargo xtask test [STEP...]      only these steps
       cargo xtask test --exhaustive  all 2^32 accumulators of some requantizations: the definition, the kernels of this
                                      machine and a third statement of the arithmetic agree. Minutes; CI does not run it
";

/// The steps, in the order in which they run.
const STEPS: &[(&str, fn() -> Outcome)] = &[
    ("format", format),
    ("tidy", || tidy::run(&[])),
    ("lints", || {
        run_cargo("clippy --workspace --all-targets --quiet -- -D warnings")
    }),
    ("docs", || {
        let mut cargo = cargo("doc --workspace --no-deps --quiet");
        process::run(cargo.env("RUSTDOCFLAGS", "-D warnings"))
    }),
    ("tests", tests),
    ("doctests", || run_cargo("test --workspace --doc --quiet")),
    ("platforms", platforms),
    ("features", || {
        run_cargo("check --package strait --no-default-features --quiet")
    }),
    ("packages", || {
        run_cargo("package --workspace --no-verify --offline --exclude-lockfile --allow-dirty --quiet")
    }),
];

/// `cargo fmt` follows `mod` lines. It does not find files whose `mod` line a macro makes, so these are formatted
/// separately.
fn format() -> Outcome {
    let mut git = std::process::Command::new("git");
    git.current_dir(workspace::root())
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.rs"]);
    let files = process::output(&mut git)?;
    let there = files
        .split_terminator('\0')
        .filter(|file| workspace::root().join(file).exists());
    let mut rustfmt = std::process::Command::new("rustfmt");
    rustfmt
        .current_dir(workspace::root())
        .args(["--edition", "2024", "--check"]);
    process::run(rustfmt.args(there))
}

/// Platforms on which the code must compile, including the one that this runs on.
const PLATFORMS: &[&str] = &[
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
];

/// Cargo with these arguments, which have spaces between them.
fn cargo(arguments: &str) -> std::process::Command {
    let mut cargo = process::cargo();
    cargo.current_dir(workspace::root()).args(arguments.split(' '));
    cargo
}

fn run_cargo(arguments: &str) -> Outcome {
    process::run(&mut cargo(arguments))
}

/// Checks libraries and binaries for every other platform that this toolchain can compile for, and says which it
/// cannot. For this platform, the lints have already checked them.
fn platforms() -> Outcome {
    let about = process::output(std::process::Command::new("rustc").arg("-vV"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    let mut check = cargo("check --workspace --quiet");
    let mut checked = Vec::new();
    for &platform in PLATFORMS.iter().filter(|&&platform| host != Some(platform)) {
        let mut rustc = std::process::Command::new("rustc");
        let folder = process::output(rustc.args(["--print", "target-libdir", "--target", platform]))?;
        if std::path::Path::new(folder.trim()).is_dir() {
            check.args(["--target", platform]);
            checked.push(platform);
        } else {
            eprintln!("{platform}: skipped, its standard library is not installed");
        }
    }
    if !checked.is_empty() {
        process::run(&mut check)?;
        eprintln!("{}: compile", checked.join(", "));
    }
    Ok(())
}

fn tests() -> Outcome {
    let outcome = match process::exists("cargo", &["nextest", "--version"]) {
        true => run_cargo("nextest run --workspace --no-fail-fast"),
        false => run_cargo("test --workspace --all-targets --no-fail-fast"),
    };
    // The tests pass over kernels that cannot run here.
    for name in instruction_sets_that_are_missing() {
        eprintln!("skipped: the kernels for {name}, which this machine does not have");
    }
    outcome
}

/// The instruction sets for which there are kernels and which this machine does not have, as `strait::Isa` names them.
fn instruction_sets_that_are_missing() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let known = [("avx2", has!("avx2")), ("avx512-vnni", has!("avx512vnni"))];
        let missing = known.iter().filter(|(_, is_here)| !is_here);
        missing.map(|(name, _)| *name).collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    vec!["avx2", "avx512-vnni"]
}

/// Runs the tests that try every accumulator. They say what differs and where.
fn exhaustive() -> Outcome {
    // One test at a time: each uses all threads and shows its progress.
    run_cargo("test -p strait-kernels --test exhaustive --release -- --ignored --test-threads=1 --nocapture")
}

fn run(arguments: &[String]) -> Outcome {
    if arguments == ["--exhaustive"] {
        return exhaustive();
    }
    let names: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
    if let Some(unknown) = arguments.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(Stop::Usage(format!(
            "there is no step `{unknown}`; there are: {}",
            names.join(", ")
        )));
    }
    let is_chosen = |of: &&str| arguments.is_empty() || arguments.iter().any(|name| name == of);
    let mut results = Vec::new();
    for &(name, step) in STEPS.iter().filter(|(name, _)| is_chosen(name)) {
        eprintln!("\n── {name} ──");
        let start = Instant::now();
        let outcome = step();
        if let Err(Stop::Failed(message)) = &outcome {
            eprintln!("{message}");
        }
        results.push((name, outcome.is_ok(), start.elapsed()));
    }
    println!("\n{}", summary(&results));
    match results.iter().all(|(_, passed, _)| *passed) {
        true => Ok(()),
        false => Err(Stop::Code(1)),
    }
}

fn summary(results: &[(&str, bool, Duration)]) -> String {
    let mut text = String::new();
    for (name, passed, time) in results {
        let verdict = if *passed { "ok" } else { "FAILED" };
        text += &format!("{name:<10} {verdict:<7} {:>6.1} s\n", time.as_secs_f64());
    }
    let failed: Vec<&str> = results
        .iter()
        .filter(|(_, passed, _)| !passed)
        .map(|(name, _, _)| *name)
        .collect();
    if failed.is_empty() {
        text + &format!("all {} steps are green", results.len())
    } else {
        text + &format!(
            "{} of {} steps failed: {}",
            failed.len(),
            results.len(),
            failed.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_what_failed() {
        let second = Duration::from_secs(1);
        assert!(summary(&[("lints", true, second), ("docs", true, second)]).ends_with("all 2 steps are green"));
        assert!(summary(&[("lints", false, second), ("docs", true, second)]).ends_with("1 of 2 steps failed: lints"));
    }
}
