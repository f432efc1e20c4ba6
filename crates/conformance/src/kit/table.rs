//! Checks the table itself. For example, a row that can never be used is a fault.

use super::lines::{Group, Line};
use std::collections::BTreeSet;
use strait_core::Term;
use strait_target::{
    Entry, OptionValue, Options, Origin, Registry, TargetSpec,
    spec::{FusionRow, Integer, Produced, When},
};

/// The lines of the report about the target's table.
pub(super) fn lines(entry: &Entry, spec: &TargetSpec) -> Vec<Line> {
    vec![id(entry), parsed(entry, spec), forms(spec), fusions(spec)]
}

/// Checks that no other target has the same id, since a deployment refuses two targets with one id.
fn id(entry: &Entry) -> Line {
    let id = entry.table().id();
    let mut line = Line::new(Group::Table, "an id of its own").checked(format!("`{id}`"));
    // If the registry cannot be made because another target of the program has a wrong table, this is not a fault of
    // this target.
    let Ok(registry) = Registry::builtin() else {
        return line;
    };
    if let Ok(other) = registry.entry(id)
        && other.origin() != entry.origin()
        && !is_same(other, entry)
    {
        let origin = other.origin();
        line.find(format!(
            "`{id}` is the id of a target in this program: {origin}; a deployment refuses two of one id"
        ));
    }
    line
}

/// True if the target in the program and the target in the library are the same one: their packages and tables are
/// equal.
fn is_same(built_in: &Entry, library: &Entry) -> bool {
    let packages = match (built_in.origin(), library.origin()) {
        (Origin::BuiltIn(here), Origin::Library(there)) => *here == there.package,
        _ => false,
    };
    packages && built_in.table().digest() == library.table().digest()
}

/// The options with values that have an overlay, once for each of these values.
pub(super) fn overlays(spec: &TargetSpec) -> impl Iterator<Item = (&String, &OptionValue)> {
    spec.overlay.iter().flat_map(|(option, values)| {
        let allowed = spec.options.get(option).and_then(|row| row.one_of.as_ref());
        let overlaid = allowed.into_iter().flatten();
        let overlaid = overlaid.filter(|value| values.contains_key(&value.to_string()));
        overlaid.map(move |value| (option, value))
    })
}

/// Checks that the table can be parsed with each overlay.
fn parsed(entry: &Entry, spec: &TargetSpec) -> Line {
    let mut line = Line::new(Group::Table, "ops, recipes and forms");
    let mut variants = 0;
    for (option, value) in overlays(spec) {
        variants += 1;
        let options = Options::from([(option.clone(), value.clone())]);
        if let Err(error) = entry.table().spec(&options) {
            line.find(format!("with {option} = {value}: {error}"));
        }
    }
    let (ops, forms, fusions) = (spec.op.len(), spec.form.len(), spec.fusion.len());
    line.checked(format!(
        "{ops} rows of ops, {forms} forms, {fusions} fusions, {variants} overlays"
    ))
}

/// Checks that every form is named by a row. It is enough if an overlay adds the row.
fn forms(spec: &TargetSpec) -> Line {
    let mut line = Line::new(Group::Table, "forms that rows name").checked(format!("{} forms", spec.form.len()));
    let ops = spec
        .op
        .values()
        .flat_map(|row| row.requantize.iter().chain(&row.inputs));
    let accepted = spec.fusion.iter().flat_map(|row| row.accept.iter().flatten());
    let weakened = spec.fusion.iter().flat_map(|row| &row.weaken_to);
    let named: BTreeSet<&str> = ops.chain(accepted).chain(weakened).map(String::as_str).collect();
    // An overlay may add the row that names the form.
    if spec.overlay.is_empty() {
        for name in spec.form.keys().filter(|name| !named.contains(name.as_str())) {
            line.find(format!("form {name}: no op and no fusion names it"));
        }
    }
    line
}

fn fusions(spec: &TargetSpec) -> Line {
    let mut line = Line::new(Group::Table, "rows unambiguous, none that can never fire");
    for (at, row) in spec.fusion.iter().enumerate() {
        if let Some(earlier) = spec.fusion[..at].iter().find(|earlier| shadows(earlier, row)) {
            line.find(format!(
                "fusion {}: it can never fire, since {} in front of it takes all of its sites",
                row.name, earlier.name
            ));
        } else if let Some(why) = never(spec, row) {
            line.find(format!("fusion {}: it can never fire, since {why}", row.name));
        }
    }
    line.checked(format!("{} fusions", spec.fusion.len()))
}

/// True if an earlier row already fuses everything that a later row could fuse, with the same steps.
fn shadows(earlier: &FusionRow, later: &FusionRow) -> bool {
    fn all<T: PartialEq>(part: &[T], of: &[T]) -> bool {
        part.iter().all(|one| of.contains(one))
    }
    let accepts = match (&earlier.accept, &later.accept) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(earlier), Some(later)) => all(later, earlier),
    };
    all(&later.ops, &earlier.ops)
        && accepts
        && all(&later.weaken_to, &earlier.weaken_to)
        && earlier.then == later.then
        && weaker(&earlier.when, &later.when)
        && earlier.with == later.with
}

/// True if every producer that meets the conditions `b` also meets the conditions `a`.
fn weaker(a: &When, b: &When) -> bool {
    fn open<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
        a.is_none() || a == b
    }
    // Every row requires a separate requantization and a single reader, so these two conditions need not be compared.
    open(&a.output, &b.output)
        && open(&a.input, &b.input)
        && open(&a.to, &b.to)
        && open(&a.concat_multiple, &b.concat_multiple)
        && a.option
            .iter()
            .all(|(option, value)| b.option.get(option) == Some(value))
}

/// Returns the reason why a fusion row can never match any operation; `None` if it can.
fn never(spec: &TargetSpec, row: &FusionRow) -> Option<String> {
    if let Some((option, value)) = row.when.option.iter().find(|(option, value)| {
        let allowed = spec.options.get(*option).and_then(|row| row.one_of.as_ref());
        allowed.is_some_and(|all| !all.contains(value))
    }) {
        return Some(format!("the option {option} is never {value}"));
    }
    let wide = matches!(row.when.output, Some(Produced::Int32 | Produced::Accumulator) | None);
    let outputs: BTreeSet<Integer> = row
        .accept
        .iter()
        .flatten()
        .filter_map(|name| spec.form.get(name))
        .flat_map(|form| form.output.clone())
        .collect();
    if let (Some(to), Some(_)) = (row.when.to, &row.accept)
        && !outputs.contains(&to)
    {
        return Some(format!("none of its forms narrows to {to}"));
    }
    let input = row.when.input;
    let made = |op: &String| {
        let Some(term) = Term::parse(op) else { return true };
        // An op without a row can be a primitive that a recipe produces.
        let mut rows = spec.op_rows(term).peekable();
        if rows.peek().is_none() {
            return true;
        }
        rows.any(|(_, op)| {
            let reads = |wanted: Integer| spec.pairs(op).any(|pair| pair.activation == wanted.into());
            !op.is_host() && input.is_none_or(|input| !wide || reads(input))
        })
    };
    // An overlay may add the op, or another type for it.
    if spec.overlay.is_empty() && !row.ops.iter().any(made) {
        let ops = row.ops.join(", ");
        return Some(match input {
            Some(input) => format!("no row computes {ops} on {input}"),
            None => format!("{ops} run on the host"),
        });
    }
    None
}
