//! Shows lists of targets, and the table of one target, as text for people.

use crate::table;

use super::{Card, List, OpLine, Sheet};

impl List {
    /// The list of targets as text. Lines have at most `width` characters, except where a single word is longer.
    pub fn text(&self, width: usize) -> String {
        let line = |card: &Card| {
            let cells = [
                card.id.clone(),
                card.version.clone(),
                card.origin.clone(),
                card.digest.chars().take(12).collect(),
                card.rows.to_string(),
                card.reference.clone(),
            ];
            (cells, String::new())
        };
        let heading = ["target", "version", "from", "table", "rows by evidence", "reference"];
        section(width, heading, self.targets.iter().map(line))
    }
}

impl Sheet {
    /// The target's table as text. The width of lines is limited as in [`List::text`].
    pub fn text(&self, width: usize) -> String {
        let card = &self.target;
        let accumulators = self.accumulators.iter().map(|line| {
            (
                [
                    line.activation.clone(),
                    line.bits.to_string(),
                    line.overflow.clone(),
                    line.evidence.clone(),
                ],
                line.note.clone().unwrap_or_default(),
            )
        });
        let types = self.types.iter().map(|line| {
            let [least, most] = line.codes;
            let cells = [
                line.of.to_owned(),
                line.elem.clone(),
                if line.symmetric { "yes" } else { "no" }.to_owned(),
                line.scale.clone(),
                format!("{least}..{most}"),
                line.per.join(", "),
                line.bias.clone().unwrap_or_default(),
            ];
            (cells, String::new())
        });
        let ops = self.ops.iter().map(|line| (op(line), remarks(line)));
        let forms = self.forms.iter().map(|line| {
            let shift = line.shift.map(|[low, high]| format!("{low}..{high}"));
            let roundings = line
                .roundings
                .iter()
                .map(|roundings| format!(", roundings: {roundings}"));
            let normalized = if line.normalized { ", normalized" } else { "" };
            let bits = line.bits.map(|bits| format!(", {}", table::count(bits, "bit")));
            let cells = [
                line.name.clone(),
                [
                    &line.kind,
                    &*roundings.collect::<String>(),
                    &*bits.unwrap_or_default(),
                    normalized,
                ]
                .concat(),
                line.zero_point.clone().unwrap_or_default(),
                line.rounding.clone(),
                shift.unwrap_or_default(),
                line.output.join(", "),
                line.per.join(", "),
                line.from.clone(),
                line.evidence.clone(),
            ];
            (cells, line.note.clone().unwrap_or_default())
        });
        let fusions = self.fusions.iter().map(|line| {
            let (name, evidence) = (line.name.clone(), line.evidence.clone());
            (
                [
                    name,
                    line.ops.join(", "),
                    match &line.accept[..] {
                        [] => "any form".to_owned(),
                        forms => forms.join(", "),
                    },
                    line.then.join(", "),
                    evidence,
                ],
                line.note.clone().unwrap_or_default(),
            )
        });
        let options = self.options.iter().map(|line| {
            (
                [line.name.clone(), line.kind.clone(), line.default.clone()],
                line.help.clone(),
            )
        });
        let bound = self.max_lsb.map_or_else(String::new, |bound| format!(", {bound} LSB"));
        let default = match self.fusions.is_empty() {
            true => String::new(),
            false => format!("fusions by default: {}{bound}\n", self.accept),
        };
        let form = [
            "form",
            "kind",
            "zero point",
            "rounding",
            "shift",
            "output",
            "per",
            "integers by",
            "evidence",
        ];
        let head = [
            format!("{} {}, from {}", card.id, card.version, card.origin),
            card.claim.clone(),
            format!("table {}; rows by evidence: {}", card.digest, card.rows),
        ];
        let rules = Some(self.rules.join(", ")).filter(|rules| !rules.is_empty());
        let passes = &self.passes;
        let list = |ops: &[String]| Some(ops.join(", ")).filter(|ops| !ops.is_empty());
        let lists = [&passes.computing, &passes.passive, &passes.activation].map(|ops| list(ops));
        let alignment: Vec<String> = passes.alignment.iter().map(|(of, how)| format!("{of} {how}")).collect();
        let forced = if passes.force_overlap {
            ", imposed on other readers"
        } else {
            ""
        };
        let apart = match passes.simplify {
            true => "",
            false => ", results on ranges of their own",
        };
        let alignment = Some(alignment.join(", ") + forced + apart);
        let bases = card.extends.iter().map(|base| {
            let digest = base.digest.get(..12).unwrap_or(&base.digest);
            format!("{} {} ({digest})", base.id, base.version)
        });
        let bases = Some(bases.collect::<Vec<_>>().join(", ")).filter(|bases| !bases.is_empty());
        let known = [
            ("extends", &bases),
            ("vendor", &card.vendor),
            ("licence", &card.licence),
            ("documentation", &card.docs),
            ("silicon", &card.silicon),
            ("rules over the float graph", &rules),
            ("codes are made for", &lists[0]),
            ("operand and results share a grid", &lists[1]),
            ("clamped in the producer", &lists[2]),
            ("alignment", &alignment),
        ];
        let known = known
            .into_iter()
            .filter_map(|(what, text)| Some(format!("{what}: {}", text.as_ref()?)));
        let head: Vec<String> = head
            .into_iter()
            .chain(known)
            .flat_map(|text| table::wrapped(&text, width))
            .collect();
        let parts = [
            head.join("\n") + "\n",
            section(
                width,
                ["codes of", "type", "symmetric", "scale", "codes", "per", "bias"],
                types,
            ),
            section(width, ["sums of", "bits", "overflow", "evidence"], accumulators),
            section(width, ["row", "ops", "types", "recipe", "narrowed by", "evidence"], ops),
            section(width, form, forms),
            section(width, ["fusion", "into", "accepts", "then", "evidence"], fusions),
            default,
            section(width, ["option", "values", "default"], options),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n")
    }
}

fn op(line: &OpLine) -> [String; 6] {
    let own = line.ops.len() == 1 && line.ops[0] == line.name;
    let pairs: Vec<String> = line.pairs.iter().map(|[a, w]| format!("{a}×{w}")).collect();
    [
        line.name.clone(),
        if own { String::new() } else { line.ops.join(", ") },
        pairs.join(", "),
        line.recipe.clone().unwrap_or_else(|| "on the host".to_owned()),
        line.requantize.join(", "),
        line.evidence.clone().unwrap_or_default(),
    ]
}

/// Describes the properties of a row that the columns do not show, and adds the row's remark.
fn remarks(line: &OpLine) -> String {
    let some = |what: &str, text: String| (!text.is_empty()).then(|| format!("{what} {text}"));
    let limits: Vec<String> = line
        .limits
        .iter()
        .map(|(of, allowed)| format!("{of} {allowed}"))
        .collect();
    let parts = [
        some("operands by", line.inputs.join(", ")),
        some("results of", line.results.join(", ")),
        some("narrows", line.points.clone().unwrap_or_default()),
        some("weights per", line.weight_per.clone().unwrap_or_default()),
        some("limits:", limits.join(", ")),
        line.note.clone(),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// A table with a heading, or an empty text if there are no rows.
fn section<const N: usize>(
    width: usize,
    heading: [&str; N],
    rows: impl Iterator<Item = ([String; N], String)>,
) -> String {
    let mut rows = rows.peekable();
    let mut text = String::new();
    if rows.peek().is_some() {
        let heading = (heading.map(str::to_owned), String::new());
        // Writing into a `String` never fails.
        let _ = table::write_within(&mut text, width, std::iter::once(heading).chain(rows));
    }
    text
}
