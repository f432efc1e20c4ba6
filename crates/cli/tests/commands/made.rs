//! Tests of what is made from the command line itself: completions, man pages, and the version.

use super::*;

#[test]
fn each_shell_completes_commands_options_and_targets() {
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let output = run(&["completions", shell]);
        let script = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        for word in ["explain", "calibration-config"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // The scripts of clap for PowerShell propose no values.
        assert!(script.contains("generic-int8") || shell == "powershell", "{shell}");
    }
}

#[test]
fn bash_reads_the_script_and_completes_a_target() {
    let there = Command::new("bash").arg("--version").output();
    if !there.is_ok_and(|output| output.status.success()) {
        println!("skipped: no bash on this machine");
        return;
    }
    let script = text(&run(&["completions", "bash"]).stdout);
    let ask =
        "COMP_WORDS=(strait compile --target gen); COMP_CWORD=3; _strait strait gen --target; echo ${COMPREPLY[@]}";
    let output = Command::new("bash")
        .args(["-c", &format!("{script}\n{ask}")])
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout).trim(), "generic-int8", "{}", text(&output.stderr));
}

#[test]
fn there_is_a_man_page_for_each_command() {
    let bench = Bench::new();
    let output = run(&["man", &bench.path("man")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for page in ["strait", "strait-compile", "strait-config-show", "strait-plugin-check"] {
        let page = fs::read_to_string(bench.path(&format!("man/{page}.1"))).unwrap();
        assert!(page.contains(".TH strait"), "{page}");
    }
}

#[test]
fn the_short_version_is_one_line_and_the_long_one_tells_what_a_run_depends_on() {
    let short = text(&run(&["-V"]).stdout);
    assert_eq!(short.trim_end(), concat!("strait ", env!("CARGO_PKG_VERSION")));
    let long = text(&run(&["--version"]).stdout);
    assert!(long.starts_with(&short), "{long}");
    for word in [
        "strait-target-sima-mla",
        "ONNX",
        "plugins: ",
        "instruction sets: ",
        "scalar",
    ] {
        assert!(long.contains(word), "{word}: {long}");
    }
}
