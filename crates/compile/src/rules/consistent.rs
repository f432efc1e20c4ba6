//! Finds keys of rules that are valid by themselves but cannot be used together.

use strait_document::{KeyPath, codes};
use strait_target::spec::{Activation, Observer, ObserverOptions};

use super::{KEYS, Range, Rule, RuleError, RuleErrors, Rules, Run, keys::rule_place};

/// Refuses rules that contradict themselves, for any model and any target.
///
/// # Errors
/// All contradictions.
pub fn consistent(rules: &Rules) -> Result<(), RuleErrors> {
    let mut found = RuleErrors::default();
    let of_all = KeyPath::of(&["calibration"]);
    found
        .0
        .extend(of_observer(rules.observer, &rules.observer_options, &of_all));
    for (index, rule) in rules.quantize.rule.iter().enumerate() {
        found
            .0
            .extend(of_observer(rule.observer, &rule.observer_options, &rule_place(index)));
    }
    found.0.extend(out_of_limits(None, &rules.observer_options, &of_all));
    for (index, rule) in rules.quantize.rule.iter().enumerate() {
        found
            .0
            .extend(out_of_limits(rule.range, &rule.observer_options, &rule_place(index)));
        let mut one = OfRule {
            rule,
            key: rule_place(index),
            found: &mut found,
        };
        one.as_a_whole();
        one.positions();
        one.for_layers_alone();
    }
    found.or(())
}

/// Returns an error for each setting that belongs to another observer than the given one. If no observer is given,
/// every setting is accepted, because the observer may come from the target or from an earlier rule.
fn of_observer(observer: Option<Observer>, options: &ObserverOptions, table: &KeyPath) -> Vec<RuleError> {
    let others = |readers: &[Observer]| observer.is_some_and(|observer| !readers.contains(&observer));
    let unread = options.given().filter(|(_, readers)| others(readers));
    let error = |(key, readers): (&str, &[Observer])| {
        let key = table.clone().key("observer_options").key(key);
        let message = format!("`{key}` needs the observer {}", named(readers));
        RuleError::new(codes::CONFLICT, key, message).help("set the observer, or leave it out")
    };
    unread.map(error).collect()
}

/// Errors for numbers outside of their limits. For configuration files, the schema checks the same limits.
fn out_of_limits(range: Option<Range>, options: &ObserverOptions, table: &KeyPath) -> Vec<RuleError> {
    let single = |x: Option<f64>| x.map(|x| [x; 2]);
    let any = [f64::from(f32::MIN), f64::from(f32::MAX)];
    let keys = [
        ("range", range.map(|range| range.0), any),
        ("observer_options.percentile", single(options.percentile), [50.0, 100.0]),
        (
            "observer_options.lower_percentile",
            single(options.lower_percentile),
            [50.0, 100.0],
        ),
        (
            "observer_options.bins",
            single(options.bins.map(f64::from)),
            [256.0, 4096.0],
        ),
        (
            "observer_options.averaging_constant",
            single(options.averaging_constant),
            [0.0, 1.0],
        ),
        ("observer_options.search_range", options.search_range, [0.01, 10.0]),
        (
            "observer_options.search_step",
            single(options.search_step),
            [0.001, 1.0],
        ),
    ];
    let is_outside = |name: &str, [low, high]: [f64; 2], limits: [f64; 2]| {
        let ascends = low < high || low == high && !name.ends_with("range");
        !(ascends && limits[0] <= low && high <= limits[1])
    };
    let outside = keys.into_iter().filter_map(|(name, numbers, limits)| {
        numbers.filter(|&numbers| is_outside(name, numbers, limits))?;
        let key = name.split('.').fold(table.clone(), KeyPath::key);
        let error = RuleError::new(codes::RANGE, key.clone(), format!("`{key}` is outside of its limits"));
        Some(match name.ends_with("range") {
            true => error.help("give two numbers, the first below the second"),
            false => error.help(format!("give a number from {} to {}", limits[0], limits[1])),
        })
    });
    outside.collect()
}

/// A list of observers as text for an error message.
pub(super) fn named(readers: &[Observer]) -> String {
    let readers: Vec<String> = readers.iter().map(|reader| format!("{:?}", reader.name())).collect();
    readers.join(" or ")
}

/// A rule and its key, for which errors are made.
struct OfRule<'a> {
    rule: &'a Rule,
    key: KeyPath,
    found: &'a mut RuleErrors,
}

impl OfRule<'_> {
    fn conflict(&mut self, key: KeyPath, message: impl Into<String>, help: &str) {
        let error = RuleError::new(codes::CONFLICT, key, message);
        self.found.0.push(error.help(help));
    }

    fn as_a_whole(&mut self) {
        let (rule, key) = (self.rule, self.key.clone());
        if !rule.selects_layers() && rule.tensors.is_empty() {
            let help = "give at least one of layers, op, between, tensors; layers = [\"**\"] is all";
            self.conflict(key.clone(), format!("`{key}` does not say what it is for"), help);
        }
        if !KEYS.iter().any(|key| key.is_given(rule)) {
            let help = "give at least one of run, range, observer, observer_options, alignment, weights, activations";
            self.conflict(key.clone(), format!("`{key}` sets nothing"), help);
        }
        if rule.range.is_some() && rule.observer.is_some() {
            let key = key.clone().key("observer");
            let help = "leave one of them out; of two rules the later one wins";
            self.conflict(
                key.clone(),
                format!("`{key}` makes a range, and `range` states it"),
                help,
            );
        }
        let codes = rule.activations.ty.and_then(Activation::codes);
        if rule.run == Some(Run::Float) && codes.is_some() && rule.tensors.is_empty() {
            let key = key.key("activations").key("type");
            let message = format!("`{key}` has codes, and the layers are to run in float");
            self.conflict(key, message, "leave one of them out");
        }
    }

    fn positions(&mut self) {
        let rule = self.rule;
        for (name, positions) in [("operands", &rule.operands), ("results", &rule.results)] {
            let key = self.key.clone().key(name);
            if !positions.is_empty() && !rule.selects_layers() {
                let help = "give layers, op or between; `tensors` names tensors whoever makes and reads them";
                self.conflict(key.clone(), format!("`{key}` does not say of which layers"), help);
            }
            for (at, position) in positions.iter().enumerate() {
                if positions[..at].contains(position) {
                    let key = key.clone().index(at);
                    self.conflict(key.clone(), format!("`{key}` is in the list already"), "leave it out");
                }
            }
        }
    }

    fn for_layers_alone(&mut self) {
        let rule = self.rule;
        let (others, help) = match rule.selects_ports() {
            true => (
                "operands and results",
                "leave `operands` and `results` out, or give the layers a rule of their own",
            ),
            false => ("tensors", "choose layers"),
        };
        if !rule.selects_ports() && (rule.tensors.is_empty() || rule.selects_layers()) {
            return;
        }
        let only_layers = [
            ("run", rule.run.is_some()),
            ("alignment", rule.alignment.is_some()),
            ("simplify", rule.simplify.is_some()),
            ("weights", rule.weights != Default::default()),
        ];
        for (name, _) in only_layers.into_iter().filter(|(_, given)| *given) {
            let key = self.key.clone().key(name);
            self.conflict(key.clone(), format!("`{key}` is for layers, not for {others}"), help);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Quantize, *};

    #[test]
    fn numbers_are_held_to_the_limits_that_documents_are_held_to() {
        let refused = |keys: &str| {
            let rule = toml::from_str(&format!("layers = ['a']\n{keys}")).unwrap();
            let quantize = Quantize {
                rule: vec![rule],
                ..Quantize::default()
            };
            let rules = Rules {
                quantize,
                ..Rules::default()
            };
            consistent(&rules).err().map(|errors| errors.0[0].key.to_string())
        };
        for (keys, at) in [
            ("range = [1, 1]", "range"),
            ("range = [nan, 1]", "range"),
            ("range = [0, 1e39]", "range"),
            ("observer_options.percentile = 49.9", "observer_options.percentile"),
            (
                "observer_options.lower_percentile = nan",
                "observer_options.lower_percentile",
            ),
            ("observer_options.bins = 4097", "observer_options.bins"),
            (
                "observer_options.averaging_constant = -0.1",
                "observer_options.averaging_constant",
            ),
            (
                "observer_options.search_range = [1.3, 0.7]",
                "observer_options.search_range",
            ),
            ("observer_options.search_step = 0", "observer_options.search_step"),
        ] {
            assert_eq!(refused(keys), Some(format!("quantize.rule[0].{at}")), "{keys}");
        }
        for keys in [
            "range = [-1, 0]",
            "observer_options.percentile = 50",
            "observer_options.search_range = [0.01, 10]",
            "observer_options.bins = 256",
        ] {
            assert_eq!(refused(keys), None, "{keys}");
        }
    }
}
