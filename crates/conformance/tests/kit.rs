//! Runs the kit on the built-in targets, on tables, and on kernels with one mistake each. Each mistake has to fail at
//! its own line.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::cell::RefCell;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use strait_builtin as _;
use strait_conformance::{Examination, ExaminationProgress, Group, Kit, Line, Recording, examine};
use strait_kernels::{
    KernelError,
    integer::{Loops, ThroughTile, Tile, TileKernel, standard},
};
use strait_requantize::{IntType, Narrowing, Requantization, Rounding, form};
use strait_target::{Entry, FormKernel, Options, Origin, Registry, Table, TargetFactory};

pub(crate) fn examined(entry: &Entry, recordings: &[Recording]) -> Kit {
    let how = Examination {
        options: &Options::new(),
        library: None,
        recordings,
        patience: Duration::from_secs(20),
        progress: &(),
    };
    examine(entry, &how).unwrap()
}

pub(crate) fn line<'k>(kit: &'k Kit, name: &str) -> &'k Line {
    let found = kit.lines.iter().find(|line| line.name == name);
    found.unwrap_or_else(|| panic!("no line {name}\n{kit}"))
}

/// Checks that each fusion row of the table was applied at least once and has a certificate.
fn every_fusion_is_reached(kit: &Kit) {
    let (reached, of) = line(kit, "fusions are certified").checked.split_once(" of ").unwrap();
    assert!(of.starts_with(&format!("{reached} rows fired")), "{kit}");
    assert!(kit.lines.iter().all(|line| !line.name.starts_with("fusion ")), "{kit}");
}

#[test]
fn the_targets_in_the_box_pass() {
    let registry = Registry::builtin().unwrap();
    for (id, entry) in registry.entries() {
        let kit = examined(entry, &[]);
        assert!(kit.is_ok(), "{id}: {kit}");
        every_fusion_is_reached(&kit);
        let has_code = line(&kit, "ties").skipped.is_none();
        assert_eq!(has_code, entry.has_code(), "{kit}");
        if has_code {
            assert!(!line(&kit, "ties").checked.starts_with("0 "), "{kit}");
        }
    }
}

/// The target tables in `configs/targets`, each with its id.
fn tables() -> Vec<(String, Registry)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/targets");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        let mut registry = Registry::default();
        let id = registry.add_file(&path).unwrap().table().id().to_owned();
        (id, registry)
    };
    files.map(read).collect()
}

#[test]
fn tables_alone_pass_and_what_was_not_checked_is_said() {
    for (id, registry) in tables() {
        let kit = examined(registry.entry(&id).unwrap(), &[]);
        assert!(kit.is_ok(), "{kit}");
        every_fusion_is_reached(&kit);
        let ties = line(&kit, "ties");
        assert_eq!(ties.skipped.as_deref(), Some("the host computes its own definition"));
        let networks: Vec<&Line> = kit.lines.iter().filter(|line| line.group == Group::Networks).collect();
        assert_eq!(networks.len(), 7);
        assert!(networks.iter().all(|line| line.outcome() == "passed"), "{kit}");
        assert_eq!(line(&kit, "recorded vectors").outcome(), "not checked");
        let json = kit.to_json();
        assert_eq!(
            (json["ok"].as_bool(), json["lines"].as_array().map(Vec::len)),
            (Some(true), Some(kit.lines.len()))
        );
    }
}

/// The table that a new project starts with. It has one form, `scale31`.
pub(crate) static TABLE: LazyLock<String> =
    LazyLock::new(|| include_str!("../../cli/templates/target.toml").replace("NAME", "vendor-npu"));

/// Runs the kit with this kernel for the form `scale31`.
fn with_kernel(kernel: FormKernel) -> Kit {
    of_code(&TABLE, kernel)
}

fn of_code(table: &'static str, kernel: FormKernel) -> Kit {
    let kernels: &'static [FormKernel] = Box::leak(Box::new([kernel]));
    let mut registry = Registry::default();
    registry
        .add(&TargetFactory::new("a test", table).kernels(kernels))
        .unwrap();
    let how = Examination {
        options: &Options::new(),
        library: None,
        recordings: &[],
        patience: Duration::from_secs(1),
        progress: &(),
    };
    examine(registry.entry("vendor-npu").unwrap(), &how).unwrap()
}

/// The lines of a group that failed.
pub(crate) fn failed(kit: &Kit, group: Group) -> Vec<&str> {
    let lines = kit
        .lines
        .iter()
        .filter(|line| line.group == group && !line.findings.is_empty());
    lines.map(|line| line.name.as_str()).collect()
}

fn tf_lite(form: &Requantization, change: impl FnOnce(&mut Narrowing)) -> Requantization {
    let Requantization::TfLite(its) = form else {
        return form.clone();
    };
    let mut its: form::TfLite = its.clone();
    change(&mut its.narrowing);
    its.into()
}

#[test]
fn a_kernel_that_rounds_ties_otherwise_fails_at_ties_alone() {
    let kit = with_kernel(FormKernel::new("scale31", &|form, clamp| {
        standard(
            &tf_lite(form, |narrowing| narrowing.rounding = Rounding::HalfEven),
            clamp,
        )
    }));
    assert_eq!(failed(&kit, Group::Semantics), ["ties"], "{kit}");
    assert!(failed(&kit, Group::Robustness).is_empty(), "{kit}");
}

#[test]
fn a_shift_that_is_off_by_one_fails_at_thresholds() {
    let kit = with_kernel(FormKernel::new("scale31", &|form, clamp| {
        let less = |narrowing: &mut Narrowing| narrowing.shift = narrowing.shift.map(|shift| shift - 1);
        standard(&tf_lite(form, less), clamp)
    }));
    assert!(
        failed(&kit, Group::Semantics).contains(&"thresholds and their predecessors"),
        "{kit}"
    );
    assert!(failed(&kit, Group::Robustness).is_empty(), "{kit}");
}

#[test]
fn a_row_that_accepts_what_the_kernel_cannot_do_fails_at_rows() {
    let kit = with_kernel(FormKernel::new("scale31", &|form, clamp| match form.narrowing() {
        Some(narrowing) if !narrowing.shift.all(|shift| *shift <= 40) => {
            Err(KernelError::Requantization("a shift above 40".into()))
        }
        _ => standard(form, clamp),
    }));
    assert_eq!(
        failed(&kit, Group::Semantics),
        ["kernels take what rows accept"],
        "{kit}"
    );
}

#[test]
fn a_kernel_that_takes_the_integers_of_the_first_channel_fails_at_channels() {
    let kit = with_kernel(FormKernel::new("scale31", &|form, clamp| {
        let first = form.channels().map(|channels| vec![0; channels]);
        standard(
            &first
                .and_then(|first| form.select(&first))
                .unwrap_or_else(|| form.clone()),
            clamp,
        )
    }));
    assert!(
        failed(&kit, Group::Semantics).contains(&"each channel by its own integers"),
        "{kit}"
    );
}

/// A correct kernel that first calls a function with the accumulators.
struct Planted(fn(&[i32]));

impl TileKernel for Planted {
    fn run(&self, form: &Requantization, tile: &Tile, accumulators: &[i32], out: &mut [u8]) -> Result<(), KernelError> {
        (self.0)(accumulators);
        let width = out.len() / accumulators.len().max(1);
        for (at, (&x, to)) in accumulators.iter().zip(out.chunks_exact_mut(width.max(1))).enumerate() {
            let channel = tile.channel(at).min(form.channels().unwrap_or(1) - 1);
            let code = form.eval(channel, x.into());
            let code = code.map_err(|e| KernelError::Requantization(e.to_string()))?;
            to.copy_from_slice(&code.to_ne_bytes()[..width]);
        }
        Ok(())
    }
}

fn planted(what: fn(&[i32])) -> Kit {
    let prepare = move |form: &Requantization, clamp: Option<[i32; 2]>| -> Result<Box<dyn Loops>, KernelError> {
        Ok(Box::new(ThroughTile::new(Planted(what), form.clone(), clamp)?))
    };
    with_kernel(FormKernel::new("scale31", Box::leak(Box::new(prepare))))
}

#[test]
fn without_a_mistake_the_same_kernel_passes() {
    let kit = planted(|_| {});
    assert!(kit.is_ok(), "{kit}");
}

#[test]
fn a_read_past_the_input_fails_at_reads() {
    let kit = planted(|accumulators| {
        std::hint::black_box(accumulators[accumulators.len()]);
    });
    assert_eq!(failed(&kit, Group::Robustness), ["no read past the input"], "{kit}");
    assert!(failed(&kit, Group::Semantics).is_empty(), "{kit}");
}

#[test]
fn a_panic_fails_at_panics() {
    let kit = planted(|accumulators| assert!(!accumulators.contains(&i32::MAX), "no such accumulator"));
    assert_eq!(failed(&kit, Group::Robustness), ["no panic"], "{kit}");
    assert!(failed(&kit, Group::Semantics).is_empty(), "{kit}");
}

#[test]
fn a_hang_fails_at_hangs_and_nothing_else_is_asked() {
    static HUNG: AtomicUsize = AtomicUsize::new(0);
    let kit = planted(|accumulators| {
        if accumulators.contains(&i32::MAX) {
            HUNG.fetch_add(1, Ordering::Relaxed);
        }
        while accumulators.contains(&i32::MAX) {
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    assert_eq!(failed(&kit, Group::Robustness), ["no hang"], "{kit}");
    assert_eq!(HUNG.load(Ordering::Relaxed), 1);
    for other in kit
        .lines
        .iter()
        .filter(|line| line.group != Group::Table && line.name != "no hang")
    {
        assert_eq!(other.outcome(), "not checked", "{kit}");
    }
    let why = Some("not asked, since a call hangs");
    for name in ["ties", "no panic", "small networks", "recorded vectors"] {
        assert_eq!(line(&kit, name).skipped.as_deref(), why, "{kit}");
    }
}

#[test]
fn each_line_counts_what_it_looked_at() {
    let kit = planted(|_| {});
    let number = |name: &str| -> u64 {
        let count = line(&kit, name).checked.split(' ').next().unwrap();
        count.parse().unwrap()
    };
    // For each requantization there are two calls for each of seven lengths, one call for each of four kinds of
    // garbage, and four calls on each of four threads.
    let requantizations = number("kernels take what rows accept");
    assert_eq!(number("no read past the input"), 14 * requantizations);
    assert_eq!(number("garbage is refused"), 4 * requantizations);
    assert_eq!(number("several threads at once"), 16 * requantizations);
    let all = number("no panic");
    assert_eq!(
        all,
        number("the same result each time") + (14 + 4 + 16) * requantizations
    );
    // A form with 1 channel has no other channel whose parameters a kernel could use by mistake. With 33, 70 or 300
    // channels there is one call per channel and code type.
    let many = 2 * (33 + 70 + 300);
    assert_eq!((number("each channel by its own integers") - many) % (5 + 19), 0);
}

#[test]
fn results_that_change_from_call_to_call_fail_at_determinism() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    struct Changing;
    impl TileKernel for Changing {
        fn run(&self, form: &Requantization, tile: &Tile, x: &[i32], out: &mut [u8]) -> Result<(), KernelError> {
            Planted(|_| {}).run(form, tile, x, out)?;
            if CALLS.fetch_add(1, Ordering::Relaxed) % 3 == 2
                && let Some(first) = out.first_mut()
            {
                *first ^= 1;
            }
            Ok(())
        }
    }
    let kit = with_kernel(FormKernel::new("scale31", &|form, clamp| {
        Ok(Box::new(ThroughTile::new(Changing, form.clone(), clamp)?))
    }));
    assert!(
        failed(&kit, Group::Robustness).contains(&"the same result each time"),
        "{kit}"
    );
    assert!(failed(&kit, Group::Semantics).is_empty(), "{kit}");
}

/// Runs the kit on a table. The tests use a correct table with one row that no network reaches.
fn of_table(text: &str) -> Kit {
    let mut registry = Registry::default();
    let table = Table::parse("vendor.toml", text.to_owned()).unwrap_or_else(|e| panic!("{e}"));
    let entry = registry.add_table(Origin::File("vendor.toml".into()), table).unwrap();
    examined(entry, &[])
}

/// The table with an op run on the host instead of by its row.
fn on_the_host(op: &str) -> String {
    let row = format!("[op.{op}]");
    let rest = TABLE.split_once(&row).unwrap().1;
    let limit = format!("[op.{op}.");
    let lines = rest.split_inclusive('\n');
    let its: String = lines
        .take_while(|line| !line.starts_with('[') || line.starts_with(&limit))
        .collect();
    let names: String = its.lines().filter(|line| line.starts_with("ops ")).collect();
    let host = format!("{row}\nrun = \"host\"\nwhy = \"no unit\"\n{names}\n\n");
    TABLE.replace(&format!("{row}{its}"), &host)
}

#[test]
fn each_op_may_run_on_the_host() {
    let ops: Vec<&str> = TABLE
        .lines()
        .filter_map(|line| line.strip_prefix("[op.")?.strip_suffix(']'))
        .filter(|name| !name.contains('.'))
        .collect();
    assert!(ops.contains(&"gemm") && ops.contains(&"conv"), "{ops:?}");
    for op in ops {
        let kit = of_table(&on_the_host(op));
        assert!(failed(&kit, Group::Networks).is_empty(), "{op}: {kit}");
    }
}

#[test]
fn rows_that_nothing_reaches_fail_at_the_table() {
    let first = "[[fusion]]\nname   = \"requantize\"";
    assert!(TABLE.contains(first));
    let before = "[[fusion]]\nname = \"before\"\nops = [\"conv\", \"gemm\", \"mul\", \"add\", \"sum_pool\"]\n\
                  accept = [\"scale31\"]\nthen = [\"set_requantize\", \"requantize_clamp\"]\n";
    let again = TABLE.replace(first, &format!("{before}\n{first}"));
    let kit = of_table(&again);
    let found = line(&kit, "rows unambiguous, none that can never fire");
    assert!(
        found
            .findings
            .iter()
            .any(|text| text.contains("fusion requantize") && text.contains("before")),
        "{kit}"
    );
    let idle = "[form.idle]\nkind = { shift = { shift = { min = 0, max = 31 }, rounding = \"floor\" } }\n\
                output = [\"int8\"]\nper = [\"tensor\"]\nfrom = \"free\"\n";
    let unused = TABLE.replace("[op.conv]", &format!("{idle}\n[op.conv]"));
    let kit = of_table(&unused);
    assert!(
        line(&kit, "forms that rows name").findings[0].contains("form idle"),
        "{kit}"
    );
}

#[test]
fn a_fusion_that_no_network_reaches_is_named_with_the_reason() {
    let first = "[[fusion]]\nname   = \"requantize\"";
    let rows = "[[fusion]]\nname = \"wide\"\nops = [\"conv\"]\nwhen = { to = \"int32\", consumers = 1 }\n\
                accept = [\"scale31\"]\nthen = [\"set_requantize\"]\n\n\
                [[fusion]]\nname = \"sum\"\nops = [\"reduce_max\"]\naccept = [\"scale31\"]\nthen = [\"set_requantize\"]\n\n";
    let kit = of_table(&TABLE.replace(first, &format!("{rows}{first}")));
    assert!(
        line(&kit, "fusions are certified")
            .checked
            .starts_with("1 of 3 rows fired"),
        "{kit}"
    );
    let of = |name| line(&kit, name).skipped.clone().unwrap();
    let wide = of("fusion wide");
    assert!(
        wide.starts_with("not reached: at ") && wide.ends_with(", not int32"),
        "{kit}"
    );
    assert_eq!(of("fusion sum"), "not reached: no network of the kit has its producer");
}

#[test]
fn rows_of_one_op_are_named_with_a_network_that_reached_them() {
    let pool = "[op.average_pool]\nrecipe     = \"average_pool_requantize\"\nrequantize = [\"scale31\"]\n";
    assert!(TABLE.contains(pool));
    let large = pool.replace("[op.average_pool]", "[op.large_pool]\nops = [\"average_pool\"]");
    let limited = |row: &str, limit: &str| format!("{row}limit = {{ window = {{ {limit} }} }}\n\n");
    let rows = limited(pool, "max = 4") + &limited(&large, "min = 5");
    let kit = of_table(&TABLE.replacen(pool, &rows, 1));
    assert_eq!(line(&kit, "op average_pool").checked, "reached in separable");
    let large = line(&kit, "op large_pool").skipped.clone().unwrap();
    assert!(large.starts_with("not reached: "), "{kit}");
    assert!(kit.lines.iter().all(|line| line.name != "op conv"), "{kit}");
}

/// A kernel that is correct except for one 16-bit code.
struct WrongOnce;

impl TileKernel for WrongOnce {
    fn run(&self, form: &Requantization, tile: &Tile, x: &[i32], out: &mut [u8]) -> Result<(), KernelError> {
        Planted(|_| {}).run(form, tile, x, out)?;
        let wrong = |code: &&mut [u8; 2]| **code == 12_345i16.to_ne_bytes();
        if form.out() == IntType::I16 && form.channels().is_none() {
            let (codes, _) = out.as_chunks_mut::<2>();
            codes
                .iter_mut()
                .filter(wrong)
                .for_each(|code| *code = 12_344i16.to_ne_bytes());
        }
        Ok(())
    }
}

#[test]
fn every_threshold_of_16_bits_is_looked_at_and_what_is_left_out_is_said() {
    let wide = TABLE.replace("[\"int8\", \"int32\"]", "[\"int8\", \"int16\", \"int32\"]");
    let kernel = FormKernel::new("scale31", &|form, clamp| {
        Ok(Box::new(ThroughTile::new(WrongOnce, form.clone(), clamp)?))
    });
    let kit = of_code(wide.leak(), kernel);
    // If the factor is a power of two, some of the accumulators are ties.
    let line = line(&kit, "thresholds and their predecessors");
    assert_eq!(line.outcome(), "failed", "{kit}");
    assert!(line.findings[0].contains("gives 12344, not 12345"), "{kit}");
    assert!(
        line.checked.ends_with(
            "; of int16 at 255 thresholds of each of several channels; of int32 at 255 thresholds of each channel"
        ),
        "{kit}"
    );
}

#[test]
fn parts_and_steps_are_shown_to_whoever_wants_to_know() {
    #[derive(Debug, Default)]
    struct Seen(RefCell<Vec<(String, usize, usize)>>);
    impl ExaminationProgress for Seen {
        fn begin(&self, part: &str, steps: usize) {
            self.0.borrow_mut().push((part.into(), steps, 0));
        }

        fn advance(&self, done: usize) {
            let mut parts = self.0.borrow_mut();
            let (.., last) = parts.last_mut().unwrap();
            assert_eq!(done, *last + 1);
            *last = done;
        }
    }
    let registry = Registry::builtin().unwrap();
    let seen = Seen::default();
    let how = Examination {
        options: &Options::new(),
        library: None,
        recordings: &[],
        patience: Duration::from_secs(20),
        progress: &seen,
    };
    let has_code = |entry: &&Entry| entry.has_code();
    let entry = registry.entries().map(|(_, entry)| entry).find(has_code).unwrap();
    examine(entry, &how).unwrap();
    let parts = seen.0.into_inner();
    let names: Vec<&str> = parts.iter().map(|(part, ..)| part.as_str()).collect();
    assert_eq!(names, ["requantizations", "small networks"]);
    assert!(
        parts.iter().all(|(_, steps, done)| steps == done && *steps > 5),
        "{parts:?}"
    );
}
