//! Compares the C reader of IR bytes with the Rust reader, on artifacts and on damaged bytes.

use crate::build::{repository, workshop};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use strait_container::{Artifact, Integrity};
use strait_core::bytes::{decode, encode};
use strait_core::form_list::form_list;
use strait_core::text::parse;
use strait_core::{Attribute, Dim, Graph, GraphId, Module, Node, Placement, Value, ValueId};
use strait_requantize::{Per, Requantization};

/// Builds the C program that prints what the reader reads, with as many compiler checks as possible. Returns `None` if
/// there is no C compiler.
fn reader(folder: &Path, name: &str, arguments: &[&str]) -> Option<PathBuf> {
    let program = folder.join("reader");
    let built = Command::new(name)
        .args(["-O1", "-Wall", "-Wextra", "-pedantic", "-Werror"])
        .args(arguments)
        .arg("-I")
        .arg(repository("include"))
        .arg(repository("crates/cli/tests/library/reader.c"))
        .arg("-o")
        .arg(&program)
        .output();
    match built {
        Ok(built) if built.status.success() => Some(program),
        Ok(built) => {
            println!("{name} {arguments:?}: {}", String::from_utf8_lossy(&built.stderr));
            None
        }
        Err(_) => None,
    }
}

fn sanitized(folder: &Path) -> PathBuf {
    let checks = ["-std=c11", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    reader(folder, "cc", &checks)
        .or_else(|| {
            println!("this compiler has no sanitizers: memory is not checked");
            reader(folder, "cc", &["-std=c11"])
        })
        .unwrap()
}

fn shown(program: &Path, what: &str, bytes: &[u8], folder: &Path) -> String {
    let file = folder.join("ir");
    std::fs::write(&file, bytes).unwrap();
    let out = Command::new(program).arg(what).arg(&file).output().unwrap();
    assert!(
        out.status.success(),
        "{:?}: {}",
        out.status,
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8(out.stdout).unwrap()
}

// ---- Prints the module that the Rust reader reads, in the same form as the C program ----

struct Shown<'a> {
    module: &'a Module,
    text: String,
}

impl Shown<'_> {
    fn value(&mut self, role: &str, value: &Value, id: ValueId) {
        let extents = value.ty.shape.iter().map(|dim| match dim {
            Dim::Fixed(extent) => format!("{extent} "),
            Dim::Named(name) => format!("\"{}\" ", self.module.name(*name)),
        });
        let (name, extents) = (self.module.name(value.name), extents.collect::<String>());
        write!(
            self.text,
            "{role} {} \"{name}\" type {} [{extents}]",
            id.index(),
            value.ty.elem.tag()
        )
        .unwrap();
        if let Some(grid) = &value.quant {
            self.text.push_str(" scale");
            let scales = match &grid.scale {
                Per::Tensor(scale) => vec![*scale],
                Per::Channel(scales) => scales.to_vec(),
            };
            scales
                .iter()
                .for_each(|scale| write!(self.text, " {:08x}", scale.to_bits()).unwrap());
            self.text.push_str(" zero");
            let zeros = match &grid.zero_point {
                Per::Tensor(zero) => vec![*zero],
                Per::Channel(zeros) => zeros.to_vec(),
            };
            zeros.iter().for_each(|zero| write!(self.text, " {zero}").unwrap());
            grid.axis
                .iter()
                .for_each(|axis| write!(self.text, " axis {axis}").unwrap());
            grid.block
                .iter()
                .for_each(|block| write!(self.text, " block {block}").unwrap());
        }
    }

    fn attributes<'k>(&mut self, role: &str, list: impl IntoIterator<Item = (&'k str, Attribute)>) {
        for (key, attribute) in list {
            write!(self.text, "  {role} \"{key}\" kind {} critical 1:", attribute.tag()).unwrap();
            let mut push = |text: String| self.text.push_str(&text);
            match &attribute {
                Attribute::Int(number) => push(format!(" {number}")),
                Attribute::Ints(numbers) => numbers.iter().for_each(|number| push(format!(" {number}"))),
                Attribute::Float(real) => push(format!(" {:08x}", real.to_bits())),
                Attribute::Floats(reals) => reals.iter().for_each(|real| push(format!(" {:08x}", real.to_bits()))),
                Attribute::Text(text) => push(format!(" \"{text}\"")),
                Attribute::Data(data) => push(format!(" {}", data.index())),
                Attribute::Form(form) => {
                    push("\n".into());
                    self.form("form", form);
                    continue;
                }
            }
            self.text.push('\n');
        }
    }

    fn form(&mut self, role: &str, form: &Requantization) {
        writeln!(self.text, "  {role} \"{}\"", form.kind().name()).unwrap();
        self.attributes("field", form_list(form));
    }

    fn node(&mut self, position: usize, node: &Node, graph: &Graph) {
        let name = |symbol| self.module.name(symbol);
        let mut line = format!(
            "node {position} \"{}\" {} \"{}\"",
            node.op.name(),
            node.op.version(),
            name(node.name)
        );
        node.sources
            .iter()
            .for_each(|&source| write!(line, " from \"{}\"", name(source)).unwrap());
        for operand in &node.inputs {
            match operand {
                Some(id) => write!(line, " {}", id.index()).unwrap(),
                None => line.push_str(" -1"),
            }
        }
        writeln!(self.text, "{line}").unwrap();
        for &id in &node.outputs {
            self.value("  result", graph.value(id).unwrap(), id);
            self.text.push('\n');
        }
        let attributes = node.op.attribute_list();
        self.attributes(
            "attribute",
            attributes.iter().map(|(key, value)| (key.as_ref(), value.clone())),
        );
        if let Some(fused) = &node.fused {
            self.form("requantize", &fused.requant);
            if let Some([low, high]) = fused.clamp {
                writeln!(self.text, "  clamp {low} {high}").unwrap();
            }
            if let Some(addend) = &fused.addend {
                writeln!(self.text, "  addend {}", addend.zero).unwrap();
                self.form("of", &addend.form);
            }
        }
        if let Placement::Host(reason) = &node.place {
            writeln!(self.text, "  host \"{}\"\"{}\"", reason.code, reason.text).unwrap();
        }
    }

    fn graph(&mut self, graph: &Graph) {
        let (name, stage) = (self.module.name(graph.name), graph.stage().tag());
        writeln!(
            self.text,
            "graph \"{name}\" stage {stage} values {}",
            graph.value_bound()
        )
        .unwrap();
        for &id in graph.inputs() {
            self.value("input", graph.value(id).unwrap(), id);
            self.text.push('\n');
        }
        for (id, value) in graph.values() {
            if let Some(data) = graph.data_of(id) {
                self.value("constant", value, id);
                writeln!(self.text, " tensor {}", data.index()).unwrap();
            }
        }
        for (position, (_, node)) in graph.nodes().enumerate() {
            self.node(position, node, graph);
        }
        self.text.push_str("outputs");
        graph
            .outputs()
            .iter()
            .for_each(|id| write!(self.text, " {}", id.index()).unwrap());
        self.text.push('\n');
    }
}

/// Prints a module that was read from bytes. Its ids have to be the numbers in these bytes.
fn text(module: &Module) -> String {
    let text = format!("main {}\n", module.main.index());
    let mut shown = Shown { module, text };
    let graphs = (0..).map_while(|number| module.graph(GraphId::new(number)));
    graphs.for_each(|graph| shown.graph(graph));
    shown.text
}

/// Encodes a module. Also returns a function that decodes these bytes, or changed ones, with the same tensors.
fn encoded(module: &Module) -> (Vec<u8>, impl Fn(&[u8]) -> Option<Module> + use<>) {
    let encoded = encode(module).unwrap();
    let tensors = encoded.tensors;
    let read = move |ir: &[u8]| decode(ir, &|index| tensors.get(index).map(|tensor| tensor.bytes().clone())).ok();
    (encoded.ir, read)
}

#[test]
fn the_reader_reads_in_artifacts_what_rust_reads() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    let program = sanitized(folder);
    let mut seen = String::new();
    for target in ["ascend", "generic-int8", "sima"] {
        let config = repository(&format!("configs/{target}.toml"));
        let out = folder.join(target);
        let set = [
            format!("output.dir='{}'", out.display()),
            format!("calibration.cache='{}'", folder.join("cache").display()),
        ];
        let compiled = Command::new(env!("CARGO_BIN_EXE_strait"))
            .arg("compile")
            .arg(config)
            .args(["--set", &set[0], "--set", &set[1]])
            .output()
            .unwrap();
        assert!(
            compiled.status.success(),
            "{}",
            String::from_utf8_lossy(&compiled.stderr)
        );
        let model = Artifact::open(&out).unwrap().model(Integrity::Full).unwrap();
        let (ir, read) = encoded(&model.module);
        let expected = text(&read(&ir).unwrap());
        assert_eq!(shown(&program, "dump", &ir, folder), expected, "{target}");
        seen += &expected;
    }
    for part in [
        "requantize \"arith_folded\"",
        "clamp ",
        "stage 2",
        "\"conv\"",
        "constant ",
        "from \"",
    ] {
        assert!(seen.contains(part), "{part}");
    }
}

/// Modules from the filetests: every op, all kinds of forms, layer configs, named dimensions, and nodes on the host.
fn filetests() -> Vec<(PathBuf, Module)> {
    let mut found = Vec::new();
    for folder in ["roundtrip", "fuse", "lower", "annotate"] {
        let folder = repository("tests/filetests").join(folder);
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            // The text after this line is the expected output.
            let text = text.split("\n; expect").next().unwrap_or_default();
            found.extend(parse(text).ok().map(|module| (file, module)));
        }
    }
    found
}

#[test]
fn the_reader_reads_every_kind_of_graph_in_both_languages() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    let program = sanitized(folder);
    let mut count = 0;
    for (file, module) in filetests() {
        let (ir, read) = encoded(&module);
        let Some(module) = read(&ir) else { continue };
        assert_eq!(
            shown(&program, "dump", &ir, folder),
            text(&module),
            "{}",
            file.display()
        );
        count += 1;
    }
    assert!(count > 50, "{count}");
    if let Some(program) = reader(folder, "c++", &["-x", "c++", "-std=c++17"]) {
        let (ir, read) = encoded(&parse(SMALL).unwrap());
        assert_eq!(shown(&program, "dump", &ir, folder), text(&read(&ir).unwrap()));
    } else {
        println!("skipped: no C++ compiler on this machine");
    }
}

const SMALL: &str = "strait 1 integer
graph @main(%x: i8[1,1,2,2] scale=1.0 zero=0) {
  %a: i8[1,1,2,2] scale=8.0 zero=0 = conv(%x, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0} fused={arith_folded shift=3 rounding=half_even out=i8} clamp=[0,127]
  return %a
}
data @w: i8[1,1,1,1] = inline [3]
data @b: i32[1] = inline [5]";

#[test]
fn cut_and_changed_bytes_are_refused_or_read_and_never_left() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    let (ir, read) = encoded(&parse(SMALL).unwrap());
    let answers = shown(&sanitized(folder), "damage", &ir, folder);
    let answers = answers.as_bytes();
    assert_eq!(answers.len(), 4 * ir.len());
    assert!(!answers.contains(&b'9'), "a refusal without a place");
    let (cuts, changes) = answers.split_at(ir.len());
    assert!(cuts.iter().all(|&answer| answer != b'0'));
    let (mut taken, mut refused) = (0, 0);
    for (at, answers) in changes.chunks(3).enumerate() {
        for (answer, change) in answers.iter().zip([0x01, 0x80, 0xff]) {
            let mut changed = ir.clone();
            changed[at] ^= change;
            // The C reader checks less than the Rust reader: it does not check forms and shapes.
            let by_rust = read(&changed).is_some();
            assert!(
                !by_rust || *answer == b'0',
                "byte {at}, {change:#x}: {}",
                *answer as char
            );
            taken += usize::from(*answer == b'0');
            refused += usize::from(*answer != b'0');
        }
    }
    println!("{} bytes: {taken} changes are read, {refused} are refused", ir.len());
    assert!(refused > ir.len());
}
