//! Tests with plugins that misbehave: the host ends with the right error, and no process and no file of the plugin is
//! left.

#![cfg(target_os = "linux")]

use crate::build::{hostile, workshop};
use crate::command::{CHIP, configuration, text};
use crate::lifetime::soon;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use strait_plugin_host::sha256;

/// An environment variable that marks the processes of a test, so that the test can find them.
const MARK: &str = "STRAIT_TEST_OF_PLUGINS";

/// The processes with this mark, without zombies.
fn marked(mark: &str) -> Vec<u32> {
    let sought = format!("{MARK}={mark}");
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let number: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let variables = std::fs::read(format!("/proc/{number}/environ")).ok()?;
        variables
            .split(|&byte| byte == 0)
            .any(|one| one == sought.as_bytes())
            .then_some(number)
    });
    processes.collect()
}

/// Writes a configuration that names a plugin which runs this C code, and asks the plugin for its files.
fn configured(folder: &Path, name: &str, places: &[(&str, &str)]) -> PathBuf {
    let id = "id      = \"acme-npu2\"";
    assert!(CHIP.contains(id));
    let table = CHIP.replace(id, &format!("{id}\nemit = [\"package\"]"));
    let path = hostile(folder, name, &table, places);
    let plugin = format!(
        "[[plugin]]\npath = '{}'\nsha256 = '{}'\n",
        path.display(),
        sha256(&path).unwrap()
    );
    configuration(folder, name, "", &plugin)
}

fn compile(configured: &Path, mark: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strait"));
    command.args(["compile", text(configured)]).env(MARK, mark);
    command
}

fn whole(out: &Output) -> String {
    let said = String::from_utf8_lossy(&out.stderr);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The names in a folder that belong to an artifact, finished or being written.
fn artifacts(folder: &Path, name: &str) -> Vec<String> {
    let names = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names
        .filter(|entry| entry == name || entry.starts_with(&format!(".{name}.strait-")))
        .collect()
}

#[test]
fn each_misbehaviour_is_an_error_of_the_plugin_and_leaves_neither_process_nor_artifact() {
    let Some(folder) = workshop() else { return };
    let folder = folder.path();
    for (name, places, part) in [
        (
            "crash",
            &[("IN_CONSTRUCTOR", "abort()")][..],
            "its entry crashed: signal 6 (aborted)",
        ),
        (
            "daemon",
            &[("IN_CONSTRUCTOR", "daemonise()"), ("IN_EMIT", "daemonise(); abort()")],
            "emit crashed: signal 6 (aborted)",
        ),
        (
            "parent",
            &[("IN_EMIT", "kill(getppid(), SIGKILL); LOOP { pause(); }")],
            "emit crashed: signal 9 (killed)",
        ),
        (
            "stopped",
            &[("IN_EMIT", "kill(getppid(), SIGSTOP); abort()")],
            "emit crashed: signal 6 (aborted)",
        ),
        (
            "closed",
            &[("IN_EMIT", "for (int fd = 0; fd < 1024; fd++) close(fd)")],
            "emit ",
        ),
        (
            "protocol",
            &[(
                "IN_EMIT",
                "for (int fd = 3; fd < 20; fd++) if (write(fd, \"garbage garbage garbage\", 23) < 0) errno = 0",
            )],
            "emit answered with ",
        ),
        (
            "signals",
            &[(
                "IN_EMIT",
                "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, NULL); signal(SIGTERM, SIG_IGN); \
                 daemonise(); _exit(7)",
            )],
            "emit ended the process, with exit code 7",
        ),
        (
            "tree",
            &[(
                "IN_EMIT",
                "int child = 0; for (int depth = 0; depth < 6; depth++) if (fork() == 0) { setsid(); child = 1; } \
                 while (child) pause(); abort()",
            )],
            "emit crashed: signal 6 (aborted)",
        ),
    ] {
        let configured = configured(folder, name, places);
        let out = compile(&configured, name).output().unwrap();
        let said = whole(&out);
        assert_eq!(out.status.code(), Some(1), "{name}: {said}");
        assert!(
            said.contains("the plugin hostile 1.0.0: ") || name == "crash",
            "{name}: {said}"
        );
        assert!(said.contains(part), "{name}: {said}");
        assert!(soon(|| marked(name).is_empty()), "{name}: {:?}", marked(name));
        assert_eq!(artifacts(folder, name), [""; 0], "{name}");
    }
}

#[test]
fn a_plugin_that_changes_its_process_changes_nothing_of_the_artifact() {
    let Some(folder) = workshop() else { return };
    let folder = folder.path();
    let changes = "umask(0777); if (chdir(\"/\") != 0) abort(); setpgid(0, getpgid(host())); \
                   setpgid(0, getpgid(getppid())); daemonise()";
    let mut manifests = Vec::new();
    for (name, what) in [("plain", "errno = 0"), ("changing", changes)] {
        let configured = configured(
            folder,
            name,
            &[("IN_CONSTRUCTOR", what), ("IN_EMIT", "FILE_OF(\"a/b\", \"text\")")],
        );
        let out = compile(&configured, name).output().unwrap();
        assert!(out.status.success(), "{name}: {}", whole(&out));
        assert!(soon(|| marked(name).is_empty()), "{name}: {:?}", marked(name));
        assert_eq!(artifacts(folder, name), [name]);
        assert_eq!(std::fs::read(folder.join(name).join("a/b")).unwrap(), b"text");
        let verified = Command::new(env!("CARGO_BIN_EXE_strait"))
            .args(["verify", text(&folder.join(name))])
            .output()
            .unwrap();
        assert!(verified.status.success(), "{name}: {}", whole(&verified));
        manifests.push(std::fs::read(folder.join(name).join("model.strait")).unwrap());
    }
    assert!(manifests[0] == manifests[1]);
}

#[test]
fn a_constructor_that_hangs_and_what_it_daemonised_end_with_a_host_that_is_killed() {
    let Some(folder) = workshop() else { return };
    let folder = folder.path();
    // The plugin joins the process group of its supervisor, ignores every signal that can be ignored, and holds the
    // lock of the dynamic loader.
    let what = "daemonise(); signal(SIGTERM, SIG_IGN); signal(SIGHUP, SIG_IGN); setpgid(0, getpgid(getppid())); ";
    let hang = configured(
        folder,
        "hang",
        &[("IN_CONSTRUCTOR", &format!("{what} LOOP {{ pause(); }}"))],
    );
    let stop = format!("{what} usleep(100000); kill(getppid(), SIGSTOP); LOOP {{ pause(); }}");
    let stop = configured(folder, "stop", &[("IN_CONSTRUCTOR", &stop)]);
    for turn in 0..6 {
        for signal in ["KILL", "TERM"] {
            let configured = if turn % 2 == 0 { &hang } else { &stop };
            let mark = format!("hang-{turn}-{signal}");
            let mut host = compile(configured, &mark)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // Four processes: the host, the supervisor, the worker with the library, and the daemon.
            assert!(soon(|| marked(&mark).len() >= 4), "{mark}: {:?}", marked(&mark));
            std::thread::sleep(Duration::from_millis(200));
            end(&mut host, signal);
            assert!(soon(|| marked(&mark).is_empty()), "{mark}: {:?}", marked(&mark));
        }
    }
    assert_eq!(artifacts(folder, "hang"), [""; 0]);
}

fn end(host: &mut Child, signal: &str) {
    let sent = Command::new("kill")
        .args(["-s", signal, &host.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    host.wait().unwrap();
}

#[test]
fn a_shell_outlives_a_plugin_that_goes_into_its_group_whose_host_is_killed() {
    let Some(folder) = workshop() else { return };
    let folder = folder.path();
    let there = folder.join("there");
    let what = format!(
        "setpgid(0, getpgid(host())); setpgid(0, getpgid(getppid())); close(open(\"{}\", O_CREAT | O_WRONLY, 0600)); \
         LOOP {{ pause(); }}",
        there.display()
    );
    let configured = configured(folder, "group", &[("IN_CONSTRUCTOR", &what)]);
    // The host and the library are in the shell's process group, as they are in a script.
    let script = format!(
        "'{}' compile '{}' & host=$!; until [ -e '{}' ]; do sleep 0.1; done; kill -s KILL $host; wait; sleep 1; echo alive",
        env!("CARGO_BIN_EXE_strait"),
        configured.display(),
        there.display()
    );
    let out = Command::new("sh")
        .args(["-c", &script])
        .env(MARK, "group")
        .process_group(0)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout).trim(), "alive", "{}", whole(&out));
    assert!(soon(|| marked("group").is_empty()), "{:?}", marked("group"));
}

#[test]
fn what_a_plugin_prints_has_an_end_and_changes_no_terminal() {
    let Some(folder) = workshop() else { return };
    let folder = folder.path();
    let what = "fputs(\"first \\033[2J line\\n\", stderr); for (int i = 0; i < 3000000; i++) fputc('x', stderr); \
                printf(\"and on standard output\\n\"); fflush(stdout)";
    let configured = configured(folder, "loud", &[("IN_OPEN", what)]);
    let out = compile(&configured, "loud").output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{}", &said[..said.len().min(2000)]);
    assert!(said.contains("first \\u{1b}[2J line\n"), "{}", &said[..200]);
    assert!(!said.contains('\u{1b}') && said.len() < 80 << 10, "{}", said.len());
    let told = said.find("remark: the plugin printed ").map(|at| &said[at..]);
    assert!(told.is_some_and(|told| told.contains(" bytes more on standard error, which are not shown")));
    assert!(!String::from_utf8_lossy(&out.stdout).contains("and on standard output"));
    assert!(soon(|| marked("loud").is_empty()));
}
