//! Tests of tables that extend a table in another file of the same folder.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use sha2::{Digest, Sha256};
use std::{fs, path::PathBuf};
use strait_target::spec::{Comparison, Effect, OptionValue, Options};
use strait_target::{Table, TargetSpec, read_table};

const TABLE: &str = include_str!("tables/every-form.toml");

/// Makes a folder that only one test uses.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes a table with this id that extends the table `below`, which is in the file `file`. `more` has further keys of
/// the new table.
fn on(id: &str, file: &str, below: &str, more: &str) -> String {
    let digest = sha256(below);
    format!(
        "schema = 2\nid = \"{id}\"\nversion = \"2.0.0\"\nextends = {{ file = \"{file}\", sha256 = \"{digest}\" }}\n{more}"
    )
}

fn table(folder: &std::path::Path, file: &str) -> Result<Table, String> {
    read_table(&folder.join(file)).map_err(|error| error.to_string())
}

fn spec(table: &Table, options: &Options) -> TargetSpec {
    table.spec(options).unwrap()
}

#[test]
fn tables_merge_lists_replace_and_three_files_are_as_one() {
    let folder = folder("merged");
    let option = "\n[options.mode]\ntype = \"bool\"\ndefault = false\nhelp = \"a test\"\n\n[overlay.mode.true.quantize]\nrounding = \"half_even\"\n";
    let bottom = TABLE.replace("id      = \"every-form\"", "id      = \"bottom\"") + option;
    // This table is not complete without the table that it extends.
    let middle = on(
        "middle",
        "bottom.toml",
        &bottom,
        "vendor = \"the middle\"\n[form.general.kind.multiply_shift]\nrounding = \"floor\"\n[overlay.mode.true.quantize]\nzero_point = \"inside_rounding\"\n",
    );
    let top = on(
        "top",
        "middle.toml",
        &middle,
        "[form.general]\nnote = \"of the top\"\n[op.conv]\nrequantize = [\"single\"]\n[quantize]\nrounding = \"ceil\"\n",
    );
    for (file, text) in [("bottom.toml", &bottom), ("middle.toml", &middle), ("top.toml", &top)] {
        fs::write(folder.join(file), text).unwrap();
    }
    let found = table(&folder, "top.toml").unwrap();
    let bases = found.bases().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        bases,
        [
            format!("middle 2.0.0 with SHA-256 {}", sha256(&middle)),
            format!("bottom 1.0.0 with SHA-256 {}", sha256(&bottom)),
        ]
    );
    let plain = spec(&found, &Options::new());
    let below = spec(&table(&folder, "bottom.toml").unwrap(), &Options::new());
    assert_eq!((plain.id.as_str(), plain.version.as_str()), ("top", "2.0.0"));
    assert_eq!((plain.digest, plain.bases.len()), (found.digest(), 2));
    assert_eq!(found.digest()[..], Sha256::digest(&top)[..]);
    assert_eq!(plain.vendor.as_deref(), Some("the middle"));
    let form = &plain.form["general"];
    assert_eq!(
        (form.rounding().name(), form.note.as_deref()),
        ("floor", Some("of the top"))
    );
    assert_ne!(below.form["general"].rounding().name(), "floor");
    assert_eq!(form.multiplier_bits(), below.form["general"].multiplier_bits());
    assert_eq!(
        (&plain.op["conv"].requantize[..], &plain.op["conv"].limit),
        (&["single".to_owned()][..], &below.op["conv"].limit)
    );
    assert_eq!(
        (below.op["conv"].requantize.len(), &plain.op["gemm"]),
        (2, &below.op["gemm"])
    );

    // An overlay is merged over the tables of all files, and overlays of the same value in several files are merged
    // with each other.
    let mode = Options::from([("mode".to_owned(), OptionValue::Bool(true))]);
    let with = spec(&found, &mode);
    let said = [
        with.quantize.rounding.name().to_owned(),
        with.quantize.zero_point.name().to_owned(),
    ];
    assert_eq!(said, ["half_even", "inside_rounding"]);
    assert_eq!(plain.quantize.rounding.name(), "ceil");

    // A single file with all of these keys gives the same table.
    let changes = [
        ("id      = \"bottom\"", "id      = \"top\"\nvendor = \"the middle\""),
        ("version = \"1.0.0\"", "version = \"2.0.0\""),
    ];
    let one = changes
        .iter()
        .fold(bottom.clone(), |text, (from, to)| text.replace(from, to));
    let one = one.replace(
        "[overlay.mode.true.quantize]",
        "[overlay.mode.true.quantize]\nzero_point = \"inside_rounding\"",
    );
    let one = Table::parse("one.toml", one).unwrap();
    let rows: Vec<String> = Comparison::new(&one, &found)
        .unwrap()
        .changes
        .into_iter()
        .map(|change| format!("{:?} {} {}", change.effect, change.row, change.key.unwrap_or_default()))
        .collect();
    let text = Effect::Text;
    for expected in [
        "OtherBits form.general kind.multiply_shift.rounding".to_owned(),
        "OtherBits quantize rounding".to_owned(),
        "OtherBits op.conv requantize".to_owned(),
        format!("{text:?} form.general note"),
        format!("{text:?} table extends"),
    ] {
        assert!(rows.contains(&expected), "{expected} in {rows:?}");
    }
    assert!(
        !rows
            .iter()
            .any(|row| row.contains("vendor") || row.contains("zero_point")),
        "{rows:?}"
    );
}

#[test]
fn a_finding_names_the_file_that_has_the_key() {
    let folder = folder("findings");
    let said = |base: &str, more: &str| {
        fs::write(folder.join("base.toml"), base).unwrap();
        fs::write(folder.join("own.toml"), on("own", "base.toml", base, more)).unwrap();
        table(&folder, "own.toml").err().unwrap_or_default()
    };
    let at = |file: &str, line: usize| format!("{}:{line}:", folder.join(file).display());
    let line = |text: &str, part: &str| text.lines().position(|line| line.contains(part)).unwrap() + 1;
    assert_eq!(said(TABLE, ""), "");
    // An unknown word and an unknown name, in either of the two files.
    let wrong = TABLE.replace("overflow = \"wrap\"", "overflow = \"wraps\"");
    let found = said(&wrong, "");
    assert!(found.contains(&at("base.toml", line(&wrong, "\"wraps\""))), "{found}");
    let found = said(TABLE, "[op.add]\nrequantize = [\"no_form\"]\n");
    assert!(
        found.contains(&at("own.toml", 6)) && found.contains("no_form"),
        "{found}"
    );
    let wrong = TABLE.replacen("requantize = [\"", "requantize = [\"no_form\", \"", 1);
    let found = said(&wrong, "");
    assert!(found.contains(&at("base.toml", line(&wrong, "no_form"))), "{found}");
    // A key that neither file has is reported as missing in the table that extends the other one.
    let found = said("schema = 2\nid = \"base\"\nversion = \"1.0.0\"\n", "");
    assert!(
        found.contains("`types` is missing") && found.contains("own.toml"),
        "{found}"
    );
    assert!(!found.contains("base.toml:"), "{found}");
    // Base tables that are not TOML, have no id, or have a newer version of the format.
    assert!(said("schema = 2\n\nid = ", "").contains(&at("base.toml", 3)));
    let found = said("schema = 2\nversion = \"1.0.0\"\n", "");
    assert!(
        found.contains("`id` is missing") && found.contains("base.toml"),
        "{found}"
    );
    assert!(said("schema = 3\nid = \"a\"\nversion = \"1.0.0\"\n", "").contains("newer than this version"));
}

#[test]
fn a_table_below_is_the_one_that_was_meant_or_none() {
    let folder = folder("meant");
    let write = |file: &str, text: &str| fs::write(folder.join(file), text).unwrap();
    write("base.toml", TABLE);
    let said = |own: &str| {
        write("own.toml", own);
        let said = table(&folder, "own.toml").unwrap_err();
        assert!(
            said.contains(&format!("{}:", folder.join("own.toml").display())),
            "{said}"
        );
        said
    };
    let right = on("own", "base.toml", TABLE, "");
    // If the digest is wrong, the base table is not even parsed, and the error states the right digest.
    write("base.toml", "no TOML");
    let found = said(&right);
    assert!(
        found.contains("another SHA-256") && found.contains(&sha256("no TOML")),
        "{found}"
    );
    write("base.toml", TABLE);
    let upper = right.replace(&sha256(TABLE), &sha256(TABLE).to_uppercase());
    assert!(said(&upper).contains("64 hexadecimal digits"));
    let unpinned = "schema = 2\nid = \"own\"\nversion = \"1.0.0\"\nextends = { file = \"base.toml\" }\n";
    assert!(said(unpinned).contains("`extends.sha256` is missing"));
    let absent = said(&right.replace("base.toml", "absent.toml"));
    assert!(absent.contains("cannot read `absent.toml`"), "{absent}");
    for elsewhere in [
        "../base.toml",
        "/base.toml",
        "a/base.toml",
        "a\\\\base.toml",
        "..",
        "c:base.toml",
    ] {
        let found = said(&right.replace("base.toml", elsewhere));
        assert!(found.contains("the name of a file without a folder"), "{found}");
    }
    write("binary.toml", "");
    fs::write(folder.join("binary.toml"), [0xFF, 0xFE, 0x00]).unwrap();
    assert!(said(&right.replace("base.toml", "binary.toml")).contains("it is not UTF-8 text"));
    let found = said(&right.replace("id = \"own\"", "id = \"every-form\""));
    assert!(found.contains("`base.toml` has the id `every-form`"), "{found}");
    assert!(said(&right.replace("base.toml", "own.toml")).contains("`own.toml` would stand on itself"));
    let overlay =
        "[options.mode]\ntype = \"bool\"\ndefault = false\nhelp = \"a test\"\n[overlay.mode.true]\nextends = {}\n";
    assert!(said(&(right.clone() + overlay)).contains("an overlay cannot change `extends`"));
    // Only a table in a file can extend another table.
    let error = Table::parse("acme 1.0.0", right).unwrap_err().to_string();
    assert!(error.contains("only a table in a file stands on another"), "{error}");
}

#[test]
fn chains_come_to_an_end() {
    let folder = folder("chain");
    let chain = |length: usize| {
        let mut below = (String::from("0.toml"), TABLE.to_owned());
        fs::write(folder.join(&below.0), &below.1).unwrap();
        for step in 1..=length {
            let (file, text) = &below;
            let text = on(&format!("at-{step}"), file, text, "");
            below = (format!("{step}.toml"), text);
            fs::write(folder.join(&below.0), &below.1).unwrap();
        }
        table(&folder, &below.0)
    };
    assert_eq!(chain(8).unwrap().bases().len(), 8);
    let said = chain(9).unwrap_err();
    assert!(said.contains("a table stands on 8 others at most"), "{said}");
    // Two tables that extend each other are refused, whatever their digests are.
    fs::write(folder.join("a.toml"), on("a", "b.toml", "", "")).unwrap();
    fs::write(folder.join("b.toml"), on("b", "a.toml", "", "")).unwrap();
    assert!(table(&folder, "a.toml").is_err());
}
