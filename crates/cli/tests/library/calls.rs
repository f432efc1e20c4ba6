//! Tests of calls into a library: what it computes, and what happens when a call goes wrong.

use crate::build::{TABLE, build, load, program, workshop};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use strait_core::{Module, text::parse};
use strait_kernels::{Context, integer::Loops};
use strait_plugin_host::{Library, Patience, register};
use strait_requantize::form::{ArithFolded, AscendRequant, DequantQuant, Fixed, Float64, Gemmlowp};
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, Roundings};
use strait_target::{Options, Registry, Sink, Target, TargetError};

fn target(library: Library) -> Arc<dyn Target> {
    let mut registry = Registry::default();
    register(&mut registry, Arc::new(library))
        .unwrap()
        .target(&Options::new())
        .unwrap()
}

fn shift(bits: u8, rounding: Rounding) -> Requantization {
    ArithFolded {
        narrowing: Narrowing {
            shift: bits.into(),
            rounding,
            out: IntType::I8,
        },
    }
    .into()
}

/// The codes that a library computes for these accumulators in each channel.
fn codes(loops: &dyn Loops, channels: usize, each: &[i32]) -> Result<Vec<i32>, String> {
    let all: Vec<u8> = (0..channels).flat_map(|_| each).flat_map(|x| x.to_ne_bytes()).collect();
    let width = if loops.out() == IntType::I16 { 2 } else { 1 };
    let mut out = vec![0; channels * each.len() * width];
    let extents = [1, channels, each.len()];
    let done = loops.requantize(&Context::detect(), extents, IntType::I32, &all, &mut out);
    let code = |bytes: &[u8]| match *bytes {
        [one] => i32::from(one as i8),
        [low, high] => i32::from(i16::from_ne_bytes([low, high])),
        _ => unreachable!(),
    };
    done.map(|()| out.chunks(width).map(code).collect())
        .map_err(|error| error.to_string())
}

/// One form of each family, with one channel and with two.
fn candidates() -> Vec<Requantization> {
    let twice = |multiplier: [i32; 2], exponent: [i8; 2]| Gemmlowp {
        multiplier: Per::Channel(multiplier.into()),
        exponent: Per::Channel(exponent.into()),
        zp: 5,
        roundings: Roundings::Two,
        out: IntType::I8,
    };
    let fixed = Fixed {
        sc: Per::Channel([3, 1_234_567].into()),
        add: Per::Channel([-5, 1 << 20].into()),
        zp: -3,
        narrowing: Narrowing {
            shift: Per::Channel([4, 30].into()),
            rounding: Rounding::HalfUp,
            out: IntType::I8,
        },
    };
    let scale = AscendRequant {
        scale: Per::Channel([0.01, 0.3].into()),
        offset: 4,
        relu: true,
        out: IntType::I8,
    };
    let affine = DequantQuant {
        deq: 0.037.into(),
        relu: false,
        scale: 3.3,
        offset: 2,
        out: IntType::I8,
    };
    let double = Float64 {
        multiplier: ((1 << 52) + 123_456_789).into(),
        exponent: Per::Tensor(-7),
        zp: 0,
        out: IntType::I16,
    };
    vec![
        shift(5, Rounding::HalfEven),
        shift(0, Rounding::HalfEven),
        shift(7, Rounding::Floor),
        fixed.into(),
        twice([0x4000_0001, 0x7fff_ffff], [-4, -1]).into(),
        scale.into(),
        affine.into(),
        double.into(),
    ]
}

#[test]
fn a_library_computes_each_family_as_the_forms_say_by_its_own_means() {
    let Some(folder) = workshop() else { return };
    let tables = [
        TABLE,
        include_str!("../../../../targets/ascend/target.toml"),
        include_str!("../../../../targets/generic-int8/target.toml"),
    ];
    let each: Vec<i32> = (-3000..3000)
        .chain([i32::MIN, i32::MIN + 1, i32::MAX - 1, i32::MAX])
        .collect();
    let mut families = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        let library = build(folder.path(), &format!("acme{index}"), table, &[]);
        let target = target(load(&library, None).unwrap());
        for form in candidates() {
            let takes = |row: &strait_target::spec::FormRow| row.accepts(&form, None).is_ok();
            if !target.spec().form.values().any(takes) {
                continue;
            }
            let own = target.own_loops(&form, None).unwrap().unwrap();
            let channels = form.channels().unwrap_or(2);
            let found = codes(own.as_ref(), channels, &each).unwrap();
            for (at, code) in found.into_iter().enumerate() {
                let (channel, x) = (at / each.len(), i64::from(each[at % each.len()]));
                let (low, high) = form.domain(channel).into_inner();
                let expected = form.eval(channel, x.max(low).min(high)).unwrap();
                assert_eq!(code, expected, "{form:?} of {x} in channel {channel}");
            }
            families.push(format!("{:?}", form.kind()));
        }
    }
    println!("{families:?}");
    for family in ["ArithFolded", "Gemmlowp", "AscendRequant", "DequantQuant", "Float64"] {
        assert!(families.iter().any(|found| found == family), "{family}: {families:?}");
    }
}

#[test]
fn a_library_that_takes_accumulators_of_one_width_leaves_the_other_to_the_form() {
    let Some(folder) = workshop() else { return };
    let form = shift(0, Rounding::HalfEven);
    for (bits, off) in [(32, [1, 0]), (64, [0, 1])] {
        // The plugin returns 8 instead of 7. This shows that the library's own code ran.
        let definitions = [format!("ONLY_BITS={bits}"), "IN_REQUANTIZE=OFF_BY_ONE".to_owned()];
        let path = build(
            folder.path(),
            &format!("only{bits}"),
            TABLE,
            &definitions.each_ref().map(String::as_str),
        );
        let target = target(load(&path, None).unwrap());
        let own = target.own_loops(&form, None).unwrap().unwrap();
        assert_eq!(codes(own.as_ref(), 1, &[7]), Ok(vec![7 + off[0]]));
        let computed = [false, true].map(|wide| target.models(&form, None, wide).unwrap());
        assert_eq!(computed, off.map(|off| Some(off == 1)));
        let mut wide = [0];
        own.requantize_wide(&Context::detect(), [1, 1, 1], &[7], &mut wide)
            .unwrap();
        assert_eq!(wide, [7 + off[1] as u8]);
    }
    let path = build(folder.path(), "neither", TABLE, &["ONLY_BITS=16"]);
    let target = target(load(&path, None).unwrap());
    assert!(target.own_loops(&form, None).unwrap().is_none());
    assert_eq!(target.models(&form, None, false).unwrap(), Some(false));
}

#[test]
fn each_way_to_fail_is_an_error_with_the_plugins_name_and_the_next_call_has_a_new_worker() {
    let Some(folder) = workshop() else { return };
    let form = shift(5, Rounding::HalfEven);
    for (fault, part) in [
        ("CRASH", "requantize crashed: signal 11"),
        ("ABORT", "requantize crashed: signal 6 (aborted)"),
        ("OVERFLOW", "requantize crashed: signal "),
        ("EXIT", "requantize ended the process, with exit code 3"),
        ("FAILURE", "requantize: the model of the chip has no licence"),
        ("SAY_PANIC", "requantize: it panicked"),
        ("GARBAGE", "requantize answered with "),
    ] {
        let path = build(
            folder.path(),
            &fault.to_lowercase(),
            TABLE,
            &[&format!("IN_REQUANTIZE={fault}")],
        );
        let target = target(load(&path, None).unwrap());
        // A call with a single accumulator succeeds, and a call with two fails.
        let own = target.own_loops(&form, None).unwrap().unwrap();
        let error = codes(own.as_ref(), 1, &[1, 2]).unwrap_err();
        assert!(
            error.contains("the plugin acme-npu 1.2.0: ") && error.contains(part),
            "{fault}: {error}"
        );
        assert_eq!(codes(own.as_ref(), 1, &[96]), Ok(vec![3]), "{fault}");
    }
}

#[test]
fn the_first_tile_of_a_form_has_all_channels_and_says_whether_it_is_computed() {
    let Some(folder) = workshop() else { return };
    let of = |fault: &str| {
        let definition = format!("IN_REQUANTIZE={fault}");
        let path = build(folder.path(), &fault.to_lowercase(), TABLE, &[&definition]);
        target(load(&path, None).unwrap())
    };
    let [first_alone, later] = ["FIRST_ALONE", "LATER"].map(of);
    let all = shift(5, Rounding::HalfEven);
    let takes = |form: &Requantization| {
        first_alone
            .spec()
            .form
            .values()
            .any(|row| row.accepts(form, None).is_ok())
    };
    let mut candidates = candidates().into_iter();
    let each = candidates
        .find(|form| form.channels() == Some(2) && takes(form))
        .unwrap();
    // The library computes channel 0 only.
    assert!(first_alone.own_loops(&each, None).unwrap().is_none());
    for (form, computed) in [(&each, false), (&all, true)] {
        for wide in [false, true] {
            assert_eq!(
                first_alone.models(form, None, wide).unwrap(),
                Some(computed),
                "{form:?}"
            );
        }
    }
    let own = later.own_loops(&each, None).unwrap().unwrap();
    let error = codes(own.as_ref(), 2, &[1, 2]).unwrap_err();
    assert!(
        error.contains("the plugin acme-npu 1.2.0: requantize: ") && error.contains("(STRAIT_UNSUPPORTED)"),
        "{error}"
    );
}

#[test]
fn an_open_that_fails_is_an_error_of_open_whatever_its_answer() {
    let Some(folder) = workshop() else { return };
    for (fault, part) in [
        ("DECLINE", "the plugin acme-npu 1.2.0: open: it does not do this"),
        ("CRASH", "the plugin acme-npu 1.2.0: open crashed: signal 11"),
    ] {
        let definition = format!("IN_OPEN={fault}");
        let path = build(folder.path(), &fault.to_lowercase(), TABLE, &[&definition]);
        let mut registry = Registry::default();
        let entry = register(&mut registry, Arc::new(load(&path, None).unwrap())).unwrap();
        let error = entry.target(&Options::new()).err().unwrap().to_string();
        assert!(error.contains(part), "{fault}: {error}");
    }
}

#[test]
fn an_endless_loop_ends_with_the_hosts_patience() {
    let Some(folder) = workshop() else { return };
    let path = build(folder.path(), "loop", TABLE, &["IN_REQUANTIZE=LOOP"]);
    let patience = Patience {
        call: Duration::from_millis(300),
        ..Patience::default()
    };
    let target = target(Library::load(&path, None, program(), patience).unwrap());
    let own = target.own_loops(&shift(5, Rounding::HalfEven), None).unwrap().unwrap();
    let start = Instant::now();
    let error = codes(own.as_ref(), 1, &[1, 2]).unwrap_err();
    assert!(error.contains("requantize did not return within 0.3 s"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(codes(own.as_ref(), 1, &[32]), Ok(vec![1]));
}

/// A sink that keeps the files in memory.
#[derive(Default)]
struct Files(BTreeMap<String, Vec<u8>>);

impl Sink for Files {
    fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError> {
        assert!(self.0.insert(path.to_owned(), content.to_vec()).is_none());
        Ok(())
    }

    fn graph(&mut self, _: &str, format: &str, _: &Module) -> Result<(), TargetError> {
        Err(TargetError::Unsupported(format.to_owned()))
    }
}

const GRAPH: &str = "strait 1 integer
graph @main(%x: i8[1,1,2,2] scale=1.0 zero=0) {
  %a: i32[1,1,2,2] scale=1.0 zero=0 = conv(%x, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
  %y: i8[1,1,2,2] scale=8.0 zero=0 = requantize(%a) {form={arith_folded shift=3 rounding=half_even out=i8}, axis=1}
  return %y
}
data @w: i8[1,1,1,1] = inline [3]
data @b: i32[1] = inline [5]";

fn with_options(folder: &Path, name: &str, definitions: &[&str]) -> Arc<dyn Target> {
    let options = "[options.banks]\ntype = \"integer\"\ndefault = 4\nhelp = \"a test\"\n\
                   [options.mode]\ntype = \"string\"\none_of = [\"fast\", \"small\"]\ndefault = \"small\"\nhelp = \"a test\"\n";
    let id = "id      = \"every-form\"";
    let table = format!(
        "{}\n{options}",
        TABLE.replace(id, &format!("{id}\nemit = [\"package\"]"))
    );
    let mut registry = Registry::default();
    let library = load(&build(folder, name, &table, definitions), None).unwrap();
    let entry = register(&mut registry, Arc::new(library)).unwrap();
    entry
        .target(&Options::from([(
            "mode".to_owned(),
            strait_target::OptionValue::String("fast".into()),
        )]))
        .unwrap()
}

#[test]
fn a_library_writes_its_files_in_pieces_and_sees_the_options() {
    let Some(folder) = workshop() else { return };
    let target = with_options(folder.path(), "files", &[]);
    let (mut files, module) = (Files::default(), parse(GRAPH).unwrap());
    target.emit(&module, &mut files).unwrap();
    let encoded = strait_core::bytes::encode(&module).unwrap();
    let total = encoded.ir.len() as u64 + 1 + 4;
    let expected = BTreeMap::from([
        ("files/options.txt".to_owned(), b"banks=4\nmode=fast\n".to_vec()),
        ("files/total".to_owned(), total.to_ne_bytes().to_vec()),
    ]);
    assert_eq!(files.0, expected);
}

#[test]
fn a_writer_that_fails_says_at_which_node_and_one_that_crashes_writes_nothing() {
    let Some(folder) = workshop() else { return };
    let module = parse(GRAPH).unwrap();
    for (fault, part) in [
        (
            "FAILURE",
            "acme-npu 1.2.0: emit: `a`: this node has no place on the chip",
        ),
        ("CRASH", "acme-npu 1.2.0: emit crashed: signal 11"),
        // The plugin reports success although it passed a null pointer.
        ("NULL_BYTES", "acme-npu 1.2.0: emit: it wrote bytes that are not there"),
    ] {
        let target = with_options(folder.path(), &fault.to_lowercase(), &[&format!("IN_EMIT={fault}")]);
        let mut files = Files::default();
        let error = target.emit(&module, &mut files).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        assert!(files.0.is_empty());
    }
}

#[test]
fn two_targets_with_one_id_are_refused_with_both_origins() {
    let Some(folder) = workshop() else { return };
    let paths = ["one", "two"].map(|name| build(folder.path(), name, TABLE, &[]));
    let mut registry = Registry::default();
    let [first, second] = paths.each_ref().map(|path| Arc::new(load(path, None).unwrap()));
    register(&mut registry, first).unwrap();
    let error = register(&mut registry, second).unwrap_err().to_string();
    for path in paths {
        assert!(
            error.contains(&format!("acme-npu 1.2.0 ({})", path.display())),
            "{error}"
        );
    }
}
