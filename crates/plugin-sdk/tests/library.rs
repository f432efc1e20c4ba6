//! Tests that call a target through the C interface, as a host does.
#![allow(unsafe_code, clippy::unwrap_used, clippy::panic, reason = "a test, of a C interface")]

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use strait_plugin_interface as c;
use strait_plugin_interface::Layout;
use strait_plugin_sdk::form::{Arithmetic, Requantization};
use strait_plugin_sdk::graph::{Attribute, Module, Reason, ReasonCode};
use strait_plugin_sdk::kernel::{Epilogue, InRegisters, KernelError, Loops, PerChannel, per_channel};
use strait_plugin_sdk::{
    Candidate, FormKernel, OptionValue, Sink, TableTarget, Target, TargetError, TargetFactory, TargetSpec,
    export_plugin,
};

const TABLE: &str = r#"
schema = 2
id = "floor"
version = "1.0.0"
emit = ["package"]
quantize.rounding = "half_even"
accumulator.int8 = { bits = 32, overflow = "wrap" }

[reference]
oracle = "nothing"
evidence = "assumed"

[types]
pairs = [["int8", "int8"]]
activation = { symmetric = true }
weight = { symmetric = true, per = ["channel"] }
bias = { int8 = "int32" }

[options.mood]
type = "string"
one_of = ["calm", "angry", "forgetful", "impossible"]
default = "calm"
help = "of this test"

[options.banks]
type = "integer"
default = 4
help = "of this test"

[form.floor]
kind = { shift = { shift = { min = 0, max = 31 }, rounding = "floor" } }
output = ["int8"]
per = ["channel", "tensor"]
from = "free"
"#;

struct Floor(PerChannel<u32>);

impl Epilogue for Floor {
    type Constants = u32;

    fn constants(&self) -> &PerChannel<u32> {
        &self.0
    }

    fn lane(&self, shift: &u32, accumulator: i32) -> i32 {
        assert_ne!(accumulator, 666, "the number of the beast");
        accumulator >> shift
    }
}

fn floor(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> {
    let shifts = per_channel(form, |channel| match channel.arithmetic() {
        Arithmetic::Affine(a) if a.shift < 32 => Some(a.shift.into()),
        _ => None,
    })?;
    Ok(Box::new(InRegisters::new(Floor(shifts), form, clamp)))
}

struct Moody(TableTarget);

impl Moody {
    fn make(table: TableTarget) -> Result<Arc<dyn Target>, TargetError> {
        match table.spec().chosen.get("mood") {
            Some(OptionValue::String(mood)) if mood == "impossible" => {
                Err(TargetError::Unsupported("this mood".into()))
            }
            _ => Ok(Arc::new(Moody(table))),
        }
    }
}

impl Target for Moody {
    fn spec(&self) -> &TargetSpec {
        self.0.spec()
    }

    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError> {
        self.0.loops(form, clamp)
    }

    fn admits(&self, node: &Candidate<'_>) -> Result<(), TargetError> {
        assert_ne!(node.name(), "beast", "the name of the beast");
        match node.attribute("groups") {
            Some(Attribute::Int(1)) => Ok(()),
            Some(Attribute::Int(groups)) => {
                let weights = node.extents(1).filter(|_| node.is_constant(1));
                let text = format!("{groups} groups of {weights:?}, and makes {:?}", node.result());
                Err(Reason::new(ReasonCode::from("floor-groups"), text).into())
            }
            _ => Err(TargetError::Unsupported("a node without groups".into())),
        }
    }

    fn emit(&self, module: &Module, sink: &mut dyn Sink) -> Result<(), TargetError> {
        let chosen = &self.spec().chosen;
        assert_ne!(chosen["mood"], OptionValue::String("angry".into()), "in a bad mood");
        let nodes = module.main().nodes().map(|(_, node)| module.name(node.name));
        let text = format!("{:?} {}", chosen["banks"], nodes.collect::<Vec<_>>().join(" "));
        sink.bytes("files/nodes", text.as_bytes())?;
        if chosen["mood"] == OptionValue::String("forgetful".into()) {
            for piece in ["one", "two"] {
                assert!(sink.append("files/pieces", piece.as_bytes())?);
            }
            return sink.bytes("files/nodes", b"again");
        }
        sink.graph("model.onnx", "onnx", module)
    }
}

export_plugin! {
    TargetFactory::new("floor 1.0.0", TABLE).kernels(&[FormKernel::new("floor", &floor)]).code(&Moody::make)
}

unsafe extern "C" {
    safe fn strait_plugin_entry(major: u32, minor: u32) -> *const c::Plugin;
}

/// A host that keeps all messages and files that it receives.
#[derive(Default)]
struct Host {
    said: Vec<String>,
    files: BTreeMap<String, Vec<u8>>,
}

unsafe extern "C" fn report(context: *mut c_void, severity: u32, node: u32, text: *const u8, size: u64) {
    assert_eq!((severity, node), (c::ERROR, c::NO_NODE));
    // SAFETY: `context` points to the `Host`, and the text has `size` bytes.
    let (host, text) = unsafe {
        (
            &mut *context.cast::<Host>(),
            std::slice::from_raw_parts(text, size as usize),
        )
    };
    host.said.push(String::from_utf8(text.to_vec()).unwrap());
}

unsafe extern "C" fn write(sink: *mut c_void, path: *const u8, path_size: u64, at: *const u8, size: u64) -> i32 {
    // SAFETY: `sink` points to the `Host`, and the path and the bytes have the stated sizes.
    let (host, path, bytes) = unsafe {
        (
            &mut *sink.cast::<Host>(),
            std::slice::from_raw_parts(path, path_size as usize),
            std::slice::from_raw_parts(at, size as usize),
        )
    };
    let path = String::from_utf8(path.to_vec()).unwrap();
    host.files.entry(path).or_default().extend(bytes);
    c::OK
}

impl Host {
    fn told(&mut self) -> c::Host {
        c::Host {
            interface_major: c::INTERFACE_MAJOR,
            context: ptr::from_mut(self).cast(),
            report: Some(report),
            ..c::Host::EMPTY
        }
    }

    fn open(&mut self, mood: &str) -> (c::Status, *mut c_void) {
        let entry = |name: &'static str| c::OptionEntry {
            name: name.as_ptr(),
            name_size: name.len() as u64,
            ..c::OptionEntry::EMPTY
        };
        let entries = [
            c::OptionEntry {
                kind: c::OPTION_INTEGER,
                number: 7,
                ..entry("banks")
            },
            c::OptionEntry {
                kind: c::OPTION_TEXT,
                text: mood.as_ptr(),
                text_size: mood.len() as u64,
                ..entry("mood")
            },
        ];
        let open = c::Open {
            option_count: 2,
            options: entries.as_ptr(),
            option_stride: size_of::<c::OptionEntry>() as u64,
            ..c::Open::EMPTY
        };
        let mut target = ptr::null_mut();
        // SAFETY: all pointers are valid during the call.
        let status = unsafe { plugin().open.unwrap()(&self.told(), &open, &mut target) };
        (status, target)
    }
}

fn plugin() -> &'static c::Plugin {
    // SAFETY: the returned plugin is a static.
    unsafe { &*strait_plugin_entry(c::INTERFACE_MAJOR, 9) }
}

/// The JSON of an `arith_folded` form with these shifts, either one for all channels or one per channel.
fn shifts(list: &str) -> String {
    format!(r#"{{"arith_folded":{{"narrowing":{{"shift":{list},"rounding":"floor","out":"i8"}}}}}}"#)
}

fn form<'a>(json: &'a str, row: &'a str) -> c::Form {
    c::Form {
        row: row.as_ptr(),
        row_size: row.len() as u64,
        json: json.as_ptr(),
        json_size: json.len() as u64,
        family: &c::FAMILY_AFFINE,
        ..c::Form::EMPTY
    }
}

fn tile<T>(rows: u64, columns: u64, accumulators: &[T], codes: &mut [i8]) -> c::Tile {
    assert_eq!(rows * columns, accumulators.len() as u64);
    c::Tile {
        accumulator_bits: 8 * size_of::<T>() as u32,
        rows,
        columns,
        accumulators: accumulators.as_ptr().cast(),
        codes: codes.as_mut_ptr().cast(),
        codes_size: codes.len() as u64,
        ..c::Tile::EMPTY
    }
}

#[test]
fn a_library_says_who_it_is_to_a_host_of_every_version() {
    let text = |at: *const u8, size: u64| {
        // SAFETY: the plugin's texts are static.
        std::str::from_utf8(unsafe { std::slice::from_raw_parts(at, size as usize) }).unwrap()
    };
    let plugin = plugin();
    assert_eq!(text(plugin.package, plugin.package_size), "floor 1.0.0");
    assert_eq!(text(plugin.table, plugin.table_size), TABLE);
    assert_eq!(
        (
            plugin.struct_size as usize,
            plugin.interface_major,
            plugin.interface_minor
        ),
        (size_of::<c::Plugin>(), 1, 0)
    );
    assert_eq!(
        (plugin.table_schema, plugin.ir_major, plugin.ir_minor),
        (c::TABLE_SCHEMA, c::IR_MAJOR, c::IR_MINOR)
    );
    assert!(plugin.open.is_some() && plugin.close.is_some() && plugin.requantize.is_some() && plugin.emit.is_some());
    // The entry function answers every version, so that the host can say which side is too old.
    for major in [0, 2, u32::MAX] {
        assert!(ptr::eq(strait_plugin_entry(major, 0), plugin));
    }
}

#[test]
fn tiles_become_codes_along_both_axes_from_any_channel_on_and_in_both_widths() {
    let mut host = Host::default();
    let (status, target) = host.open("calm");
    assert_eq!(status, c::OK, "{:?}", host.said);
    let requantize = plugin().requantize.unwrap();
    let told = host.told();
    let json = shifts(r#"{"channel":[0,1,2,3]}"#);
    let form_of = form(&json, "floor");
    let mut codes = [0i8; 8];
    // The tiles have the channels 1 and 2: first along the rows, and then along the columns.
    let sums = [-9, 9, 20, 100, -9, 9, 20, 100];
    let rows = c::Tile {
        first_channel: 1,
        ..tile(2, 4, &sums, &mut codes)
    };
    // SAFETY: all pointers are valid during the call.
    assert_eq!(unsafe { requantize(&told, target, &form_of, &rows) }, c::OK);
    assert_eq!(codes, [-5, 4, 10, 50, -3, 2, 5, 25]);
    let columns = c::Tile {
        channel_axis: c::CHANNELS_ALONG_COLUMNS,
        ..tile(2, 4, &sums, &mut codes)
    };
    // SAFETY: all pointers are valid during the call.
    assert_eq!(unsafe { requantize(&told, target, &form_of, &columns) }, c::OK);
    assert_eq!(codes, [-9, 4, 5, 12, -9, 4, 5, 12]);
    // One shift for all channels and 64-bit accumulators. Values that are too large saturate.
    let json = shifts(r#"{"tensor":3}"#);
    let wide = tile(1, 4, &[-9i64, 9, 1 << 20, -800], &mut codes[..4]);
    // SAFETY: all pointers are valid during the call.
    let status = unsafe { requantize(&told, target, &form(&json, "floor"), &wide) };
    assert_eq!(status, c::OK);
    assert_eq!(codes[..4], [-2, 1, 127, -100]);
    // SAFETY: the target is not used after this.
    unsafe { plugin().close.unwrap()(target) };
    assert!(host.said.is_empty(), "{:?}", host.said);
}

unsafe extern "C" fn refuse(sink: *mut c_void, code: *const u8, code_size: u64, text: *const u8, size: u64) {
    // SAFETY: `sink` points to the `Host`, and both texts have the stated sizes.
    let (host, code, text) = unsafe {
        (
            &mut *sink.cast::<Host>(),
            std::slice::from_raw_parts(code, code_size as usize),
            std::slice::from_raw_parts(text, size as usize),
        )
    };
    let text = [code, b": ", text].concat();
    host.said.push(String::from_utf8(text).unwrap());
}

/// Asks `admits` about a node with this name, term and `groups`. Returns the status and all messages that the host
/// received.
fn asked(name: &str, term: &str, groups: Option<i64>) -> (c::Status, Vec<String>) {
    let mut host = Host::default();
    let (_, target) = host.open("calm");
    let told = host.told();
    let groups = groups.as_slice();
    let attributes = groups.iter().map(|groups| c::Attribute {
        kind: c::ATTRIBUTE_INT,
        key: "groups".as_ptr(),
        key_size: 6,
        values: ptr::from_ref(groups).cast(),
        count: 1,
        ..c::Attribute::EMPTY
    });
    let (attributes, extents) = (attributes.collect::<Vec<_>>(), [4u64, 2, 3, 3]);
    let operand = |flags, rank| c::Operand {
        flags,
        rank,
        extents: extents.as_ptr(),
        ..c::Operand::EMPTY
    };
    let operands = [
        operand(0, 2),
        operand(c::OPERAND_CONSTANT, 4),
        operand(c::OPERAND_ABSENT, 0),
    ];
    let node = c::Node {
        operand_count: 3,
        name: name.as_ptr(),
        name_size: name.len() as u64,
        term: term.as_ptr(),
        term_size: term.len() as u64,
        operands: operands.as_ptr(),
        operand_stride: size_of::<c::Operand>() as u64,
        result: &operands[0],
        attributes: attributes.as_ptr(),
        attribute_count: attributes.len() as u64,
        attribute_stride: size_of::<c::Attribute>() as u64,
        sink: told.context,
        refuse: Some(refuse),
        ..c::Node::EMPTY
    };
    // SAFETY: all pointers are valid during the call.
    let status = unsafe { plugin().admits.unwrap()(&told, target, &node) };
    (status, host.said)
}

#[test]
fn the_code_refuses_a_node_as_it_does_where_it_is_linked() {
    assert_eq!(asked("a", "conv", Some(1)), (c::OK, vec![]));
    let (status, said) = asked("a", "conv", Some(2));
    let reason = "floor-groups: 2 groups of Some([4, 2, 3, 3]), and makes Some([4, 2])";
    assert_eq!((status, said), (c::OK, vec![reason.to_owned()]));
    let (status, said) = asked("a", "conv", None);
    assert_eq!(status, c::INTERNAL);
    assert_eq!(said, ["a node without groups is not supported"]);
    // An op that only a later version knows.
    assert_eq!(asked("a", "telepathy", Some(2)).0, c::UNSUPPORTED);
    let (status, said) = asked("beast", "conv", Some(2));
    assert!(
        status == c::PANIC && said[0].contains("the name of the beast"),
        "{said:?}"
    );
}

#[test]
fn a_panic_is_the_message_of_a_failure() {
    let mut host = Host::default();
    let (_, target) = host.open("calm");
    let told = host.told();
    let (json, mut codes) = (shifts(r#"{"tensor":3}"#), [0; 2]);
    let beast = tile(1, 2, &[1, 666], &mut codes);
    // SAFETY: all pointers are valid during the call.
    let status = unsafe { plugin().requantize.unwrap()(&told, target, &form(&json, "floor"), &beast) };
    assert_eq!(status, c::PANIC);
    assert!(
        host.said[0].starts_with("it panicked: ") && host.said[0].contains("the number of the beast"),
        "{:?}",
        host.said
    );
}

#[test]
fn arguments_that_make_no_sense_are_refused_and_touch_nothing() {
    let mut host = Host::default();
    let (_, target) = host.open("calm");
    let told = host.told();
    let (plugin, none) = (plugin(), ptr::null_mut());
    let requantize = plugin.requantize.unwrap();
    let (json, mut codes) = (shifts(r#"{"channel":[1,2]}"#), [77i8; 4]);
    let of = form(&json, "floor");
    let right = tile(2, 2, &[1, 2, 3, 4], &mut codes);
    let wrong = [
        c::Tile {
            struct_size: 12,
            ..right
        },
        c::Tile {
            accumulators: ptr::null(),
            ..right
        },
        c::Tile {
            codes: ptr::null_mut(),
            ..right
        },
        c::Tile { codes_size: 3, ..right },
        c::Tile {
            first_channel: 1,
            ..right
        },
        c::Tile {
            first_channel: u32::MAX,
            ..right
        },
        c::Tile {
            channel_axis: 7,
            ..right
        },
        c::Tile {
            rows: u64::MAX,
            ..right
        },
        c::Tile {
            rows: 1 << 62,
            columns: 1,
            ..right
        },
    ];
    // SAFETY: every pointer is either null or valid during the call.
    unsafe {
        for tile in &wrong {
            assert_eq!(requantize(&told, target, &of, tile), c::INVALID_ARGUMENT, "{tile:?}");
        }
        let without = c::Form {
            family: ptr::null(),
            ..of
        };
        assert_eq!(requantize(&told, target, &without, &right), c::INVALID_ARGUMENT);
        assert_eq!(requantize(&told, target, ptr::null(), &right), c::INVALID_ARGUMENT);
        assert_eq!(requantize(&told, target, &of, ptr::null()), c::INVALID_ARGUMENT);
        assert_eq!(requantize(&told, none, &of, &right), c::INVALID_ARGUMENT);
        assert_eq!(
            requantize(ptr::null(), none, ptr::null(), ptr::null()),
            c::INVALID_ARGUMENT
        );
        assert_eq!(
            requantize(&told, target, &form(&json, "another"), &right),
            c::UNSUPPORTED
        );
        assert_eq!(
            requantize(&told, target, &form("{\"later\":{}}", "floor"), &right),
            c::UNSUPPORTED
        );
        let bits = c::Tile {
            accumulator_bits: 48,
            ..right
        };
        assert_eq!(requantize(&told, target, &of, &bits), c::UNSUPPORTED);
        let admits = plugin.admits.unwrap();
        let useless = c::Node {
            refuse: Some(refuse),
            ..c::Node::EMPTY
        };
        for (target, node) in [
            (target, ptr::null()),
            (none, &raw const useless),
            (target, &c::Node::EMPTY),
        ] {
            assert_eq!(admits(&told, target, node), c::INVALID_ARGUMENT);
        }
        assert_ne!(admits(&told, target, &useless), c::OK);
        assert_eq!(plugin.emit.unwrap()(&told, target, ptr::null()), c::INVALID_ARGUMENT);
        assert_eq!(plugin.emit.unwrap()(&told, none, &c::Emit::EMPTY), c::INVALID_ARGUMENT);
        let mut opened = ptr::null_mut();
        assert_eq!(
            plugin.open.unwrap()(&told, ptr::null(), &mut opened),
            c::INVALID_ARGUMENT
        );
        assert_eq!(
            plugin.open.unwrap()(&told, &c::Open::EMPTY, ptr::null_mut()),
            c::INVALID_ARGUMENT
        );
        plugin.close.unwrap()(none);
        plugin.close.unwrap()(target);
    }
    assert_eq!(codes, [77; 4]);
    assert!(
        host.said.iter().any(|text| text.contains("is computed by the host")),
        "{:?}",
        host.said
    );
}

const GRAPH: &str = "strait 1 integer
graph @main(%x: i8[1,1,2,2] scale=1.0 zero=0) {
  %a: i32[1,1,2,2] scale=1.0 zero=0 = conv(%x, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
  %y: i8[1,1,2,2] scale=8.0 zero=0 = requantize(%a) {form={arith_folded shift=3 rounding=half_even out=i8}, axis=1}
  return %y
}
data @w: i8[1,1,1,1] = inline [3]
data @b: i32[1] = inline [5]";

/// Calls `emit` of a target that was opened with this value of the option `mood`. If `damage` is true, the IR bytes are
/// damaged. Returns the status.
fn emitted(host: &mut Host, mood: &str, damage: bool) -> c::Status {
    let (status, target) = host.open(mood);
    assert_eq!(status, c::OK, "{:?}", host.said);
    let module = strait_core::text::parse(GRAPH).unwrap();
    let mut encoded = strait_core::bytes::encode(&module).unwrap();
    if damage {
        encoded.ir.truncate(100);
    }
    let tensors: Vec<c::Tensor> = encoded
        .tensors
        .iter()
        .map(|tensor| c::Tensor {
            element: tensor.elem().tag().into(),
            data: tensor.bytes().as_ptr(),
            data_size: tensor.bytes().len() as u64,
            ..c::Tensor::EMPTY
        })
        .collect();
    let told = host.told();
    let model = c::Emit {
        tensor_count: tensors.len() as u32,
        tensors: tensors.as_ptr(),
        tensor_stride: size_of::<c::Tensor>() as u64,
        ir: encoded.ir.as_ptr(),
        ir_size: encoded.ir.len() as u64,
        sink: told.context,
        write: Some(write),
        ..c::Emit::EMPTY
    };
    // SAFETY: all pointers are valid during the call.
    unsafe { plugin().emit.unwrap()(&told, target, &model) }
}

#[test]
fn files_go_to_the_host_and_graphs_for_its_writers_do_not() {
    let mut host = Host::default();
    assert_eq!(emitted(&mut host, "calm", false), c::UNSUPPORTED);
    assert_eq!(host.said, ["the format `onnx` from a library is not supported"]);
    assert_eq!(host.files["files/nodes"], b"Integer(7) a y");
    let mut host = Host::default();
    assert_eq!(emitted(&mut host, "angry", false), c::PANIC);
    assert!(host.said[0].contains("in a bad mood") && host.files.is_empty());
    let mut host = Host::default();
    assert_eq!(emitted(&mut host, "calm", true), c::INVALID_ARGUMENT);
    assert!(host.said[0].contains("the IR bytes end inside"), "{:?}", host.said);
}

/// Without this check, the host would append the second file to the first one.
#[test]
fn a_file_that_is_written_twice_is_refused_as_it_is_where_the_code_is_linked() {
    let mut host = Host::default();
    assert_eq!(emitted(&mut host, "forgetful", false), c::INTERNAL);
    let told = "target `floor` emits `files/nodes`: the artifact has a file of this name already";
    assert!(host.said[0].contains(told), "{:?}", host.said);
    assert_eq!(host.files["files/nodes"], b"Integer(7) a y");
    assert_eq!(host.files["files/pieces"], b"onetwo");
}

#[test]
fn options_that_cannot_be_are_said_by_the_code_or_by_the_table() {
    for (mood, part) in [
        ("impossible", "its code cannot make it: this mood is not supported"),
        ("sunny", "mood"),
    ] {
        let mut host = Host::default();
        let (status, target) = host.open(mood);
        assert!(status == c::INTERNAL && target.is_null());
        assert!(host.said[0].contains(part), "{:?}", host.said);
    }
}
