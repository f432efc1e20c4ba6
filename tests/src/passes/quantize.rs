//! The passes from the float graph to the fused one, for a target.

use super::Outcome;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use strait_builtin as _;
use strait_core::verifier::verify;
use strait_core::{Elem, Module, NodeId, Placement, Port, QuantParams, Refusal, TensorData};
use strait_lower::{Baked, FusionPolicy, LowerError, Parameters, Signs, Until, bake, simulate};
use strait_quantize::annotate::{
    Constraints, Fixpoint, Given, GivenAway, PartKind, RangeFrom, Settings, Unfit, Unfitting, UnlikePart, place, widen,
};
use strait_quantize::statistics::{Channels, Kind, Record};
use strait_quantize::{Annotation, Observation, Statistics};
use strait_target::spec::{Activation, Alignment, Integer, Nearness};
use strait_target::{Options, Registry, Target, TargetSpec};

/// Settings from the target's table alone, with nothing given and nothing observed.
pub fn plain(spec: &TargetSpec) -> (Settings, Constraints, Observation) {
    (Settings::new(spec), Constraints::default(), Observation::default())
}

/// A target from `ID[,OPTION=VALUE]…`, or from the path of its table. The path ends in `.toml` and starts at this
/// package.
pub fn target(text: &str) -> Result<Arc<dyn Target>, String> {
    // Targets are kept, since reading a table takes longer than most of what tests do with it.
    static READ: Mutex<BTreeMap<String, Arc<dyn Target>>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().map_err(|error| error.to_string())?;
    if let Some(target) = read.get(text) {
        return Ok(Arc::clone(target));
    }
    let target = read_target(text)?;
    read.insert(text.to_owned(), Arc::clone(&target));
    Ok(target)
}

fn read_target(text: &str) -> Result<Arc<dyn Target>, String> {
    let mut parts = text.split(',');
    let name = parts.next().unwrap_or_default();
    let mut options = Options::new();
    for part in parts {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("`{part}` is not OPTION=VALUE"))?;
        let value = match value.parse() {
            Ok(number) => strait_target::spec::OptionValue::Integer(number),
            Err(_) => strait_target::spec::OptionValue::String(value.into()),
        };
        options.insert(key.into(), value);
    }
    let mut registry = Registry::builtin().map_err(|error| error.to_string())?;
    let entry = if name.ends_with(".toml") {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        registry.add_file(&path)
    } else {
        registry.entry(name)
    };
    let target = entry.and_then(|entry| entry.target(&options));
    target.map_err(|error| error.to_string())
}

/// Remarks on a graph's nodes that run on the host.
fn hosted(module: &Module) -> Vec<String> {
    let main = module.main();
    let nodes = main.nodes().filter_map(|(_, node)| match &node.place {
        Placement::Host(reason) => Some(format!("host {}: {reason}", module.name(node.name))),
        Placement::Accelerator => None,
    });
    nodes.collect()
}

/// `place TARGET`: decides for each node whether it runs on the accelerator or the host.
pub(super) fn place_graph(module: &mut Module, argument: &str) -> Result<Outcome, String> {
    let target = target(argument)?;
    let main = module.main;
    let (settings, constraints, observation) = plain(target.spec());
    let how = Annotation::new(target.spec(), &observation, &settings, &constraints);
    place(module, main, &how);
    Ok(Outcome::Text(match &hosted(module)[..] {
        [] => "all on the accelerator".into(),
        lines => lines.join("\n"),
    }))
}

/// Reads `NAME=LOW..HIGH` as if the calibration data had these extremes; numbers between them count as seen, too.
/// `peaks:NAME` has the largest elements of the rows of `NAME`. `channels.AXIS:NAME` has the extremes at each position
/// of an axis, two by two.
fn observation(ranges: &[&str]) -> Result<Observation, String> {
    let mut observation = Observation::default();
    for range in ranges {
        let parsed = range.split_once('=').and_then(|(name, numbers)| {
            let numbers: Result<Vec<f32>, _> = numbers.split("..").map(str::parse).collect();
            Some((name, numbers.ok()?))
        });
        let (name, numbers) = parsed.ok_or_else(|| format!("`{range}` is not NAME=LOW..HIGH"))?;
        if let Some((axis, name)) = name.strip_prefix("channels.").and_then(|name| name.split_once(':')) {
            let axis = axis.parse().map_err(|_| format!("`{axis}` is no axis"))?;
            let ends = numbers.chunks_exact(2).map(|ends| [ends[0], ends[1]]).collect();
            observation.insert(Kind::Channels { axis }, name, Record::Channels(Channels { ends }));
            continue;
        }
        let mut statistics = Statistics::default();
        statistics.add(0, &numbers);
        let (kind, name) = match name.strip_prefix("peaks:") {
            Some(name) => (Kind::Peaks, name),
            None => (Kind::Elements, name),
        };
        observation.insert(kind, name, Record::Statistics(statistics));
    }
    Ok(observation)
}

/// Reads words about types and returns the others:
/// - `type=int16` for the activations of all nodes, `type:NAME=int16` for those of one;
/// - `weights=` and `weights:NAME=` for weights;
/// - `leaves:NAME=int16` for the type with which a value leaves its node or the host, and `leaves:NAME=symmetric` for
///   its zero point;
/// - `symmetric` for all activations, `symmetric:NAME` for those of one node, `symmetric:NAME:INDEX` for one operand;
/// - `powers`, in the same forms, for scales that are powers of two.
pub fn types<'w>(module: &Module, words: &[&'w str], settings: &mut Settings) -> Result<Vec<&'w str>, String> {
    let mut others = Vec::new();
    for word in words {
        let (key, t) = word.split_once('=').unwrap_or((word, ""));
        let (of, name) = key.split_once(':').unwrap_or((key, ""));
        let node = || {
            let mut nodes = module.main().nodes();
            let found = nodes.find(|(_, node)| module.name(node.name) == name);
            found
                .map(|(id, _)| id)
                .ok_or_else(|| format!("there is no node {name}"))
        };
        if matches!(of, "symmetric" | "powers") {
            let grid = match name {
                "" => &mut settings.default.grid,
                _ if name.contains(':') => {
                    let (node, index) = operand(module, name)?;
                    &mut settings.operands.entry((node, index)).or_default().grid
                }
                _ => &mut settings.layers.entry(node()?).or_default().grid,
            };
            match of {
                "symmetric" => grid.symmetric = Some(true),
                _ => grid.power_of_two = Some(true),
            }
            continue;
        }
        if !matches!(of, "type" | "weights" | "leaves") {
            others.push(*word);
            continue;
        }
        if let ("type", Activation::FLOAT32) = (of, t) {
            match name {
                "" => settings.default.activation = Some(Activation::Float32),
                _ => settings.layers.entry(node()?).or_default().activation = Some(Activation::Float32),
            }
            continue;
        }
        let value = || {
            let mut values = module.main().values();
            let found = values.find(|(_, value)| module.name(value.name) == name);
            found
                .map(|(id, _)| id)
                .ok_or_else(|| format!("there is no value {name}"))
        };
        if let ("leaves", "symmetric") = (of, t) {
            settings.values.entry(value()?).or_default().grid.symmetric = Some(true);
            continue;
        }
        let known = Integer::ALL.iter().copied().find(|known| known.name() == t);
        let t = known.ok_or_else(|| format!("`{t}` is no type"))?;
        match (of, name) {
            ("type", "") => settings.default.activation = Some(t.into()),
            ("type", _) => settings.layers.entry(node()?).or_default().activation = Some(t.into()),
            ("weights", "") => settings.default.weights.ty = Some(t),
            ("weights", _) => settings.layers.entry(node()?).or_default().weights.ty = Some(t),
            _ => settings.values.entry(value()?).or_default().ty = Some(t),
        }
    }
    Ok(others)
}

/// Parses `NODE:INDEX`.
fn operand(module: &Module, text: &str) -> Result<(NodeId, usize), String> {
    let parsed = text.rsplit_once(':').and_then(|(name, index)| {
        let (id, _) = module.main().nodes().find(|(_, node)| module.name(node.name) == name)?;
        Some((id, index.parse().ok()?))
    });
    parsed.ok_or_else(|| format!("`{text}` is no operand"))
}

/// Scale, zero point and, if there are any, codes of an operand, from `TYPE,SCALE,ZERO[,CODE]…`.
fn given(module: &mut Module, (node, index): (NodeId, usize), text: &str) -> Option<Given> {
    let mut parts = text.split(',');
    let elem = Elem::parse(parts.next()?)?;
    let params = QuantParams::tensor(parts.next()?.parse().ok()?, parts.next()?.parse().ok()?).into();
    let codes: Vec<i64> = parts.map(|code| code.parse().ok()).collect::<Option<_>>()?;
    let codes = match &codes[..] {
        [] => None,
        codes => {
            let value = (*module.main().node(node)?.inputs.get(index)?)?;
            let dims = module.main().value(value)?.ty.dims()?;
            let tensor = TensorData::from_integers(elem, &dims, codes).ok()?;
            Some(module.add_data(tensor))
        }
    };
    Some(Given { elem, params, codes })
}

/// Reads words about ranges and returns the others:
/// - `operand:NODE:INDEX=LOW..HIGH` for the range of one operand;
/// - `value:NAME=LOW..HIGH` for that of one value;
/// - `given:NODE:INDEX=TYPE,SCALE,ZERO[,CODE]…` for the scale of an operand, and for its codes if it is a constant.
fn ranges<'w>(
    module: &mut Module,
    words: Vec<&'w str>,
    settings: &mut Settings,
    constraints: &mut Constraints,
) -> Result<Vec<&'w str>, String> {
    let mut others = Vec::new();
    for word in words {
        let (key, range) = word.split_once('=').unwrap_or((word, ""));
        if let Some(("given", of)) = key.split_once(':') {
            let at = operand(module, of)?;
            let given = given(module, at, range).ok_or_else(|| format!("`{word}` gives nothing"))?;
            constraints.given.insert((at.0, Port::Operand(at.1)), given);
            continue;
        }
        let (Some(("operand" | "value", of)), ends) = (key.split_once(':'), range.split_once("..")) else {
            others.push(word);
            continue;
        };
        let ends = ends.and_then(|(low, high)| Some([low.parse().ok()?, high.parse().ok()?]));
        let range = RangeFrom::Rule(ends.ok_or_else(|| format!("`{word}` has no range"))?);
        if key.starts_with("operand") {
            let (node, index) = operand(module, of)?;
            settings.operands.entry((node, index)).or_default().range = Some(range);
            continue;
        }
        let mut values = module.main().values();
        let value = values.find(|(_, value)| module.name(value.name) == of);
        let (value, _) = value.ok_or_else(|| format!("there is no value {of}"))?;
        settings.values.entry(value).or_default().range = Some(range);
    }
    Ok(others)
}

/// Reads `simplify=off`, and `simplify@NAME=off` for the results of one node. Returns the other words.
fn simplified<'w>(module: &Module, words: Vec<&'w str>, settings: &mut Settings) -> Result<Vec<&'w str>, String> {
    let mut others = Vec::new();
    for word in words {
        match word.strip_prefix("simplify").and_then(|rest| rest.strip_suffix("=off")) {
            None => others.push(word),
            Some("") => settings.default.alignments.simplify = false,
            Some(of) => {
                let node = node_named(module, of.trim_start_matches('@'))?;
                settings.layers.entry(node).or_default().simplify = Some(false);
            }
        }
    }
    Ok(others)
}

fn node_named(module: &Module, name: &str) -> Result<NodeId, String> {
    let found = module.main().nodes().find(|(_, node)| module.name(node.name) == name);
    let (id, _) = found.ok_or_else(|| format!("there is no node {name}"))?;
    Ok(id)
}

/// Reads `align:KIND=WORD` for the ops of a kind, `align@NAME=WORD` for one node, and `overlap=force`. Returns the
/// other words.
fn alignments<'w>(module: &Module, words: Vec<&'w str>, settings: &mut Settings) -> Result<Vec<&'w str>, String> {
    let mut others = Vec::new();
    for word in words {
        if word == "overlap=force" {
            settings.default.alignments.force_overlap = true;
            continue;
        }
        let Some((of, to)) = word.strip_prefix("align").and_then(|rest| rest.split_once('=')) else {
            others.push(word);
            continue;
        };
        let known = Alignment::ALL.iter().copied().find(|known| known.name() == to);
        let to = known.ok_or_else(|| format!("`{to}` is no alignment"))?;
        if let Some(name) = of.strip_prefix('@') {
            settings.layers.entry(node_named(module, name)?).or_default().alignment = Some(to);
            continue;
        }
        let kinds = &mut settings.default.alignments;
        *match of {
            ":activation" => &mut kinds.activation,
            ":elementwise" => &mut kinds.elementwise,
            ":concat" => &mut kinds.concat,
            ":pooling" => &mut kinds.pooling,
            ":resize" => &mut kinds.resize,
            ":passive" => &mut kinds.passive,
            _ => return Err(format!("`{word}` aligns nothing")),
        } = to;
    }
    Ok(others)
}

fn annotate(module: &mut Module, how: &Annotation<'_>, fixpoint: &mut Fixpoint) -> Result<(), String> {
    let main = module.main;
    strait_quantize::annotate(module, main, how, fixpoint).map_err(|error| error.to_string())?;
    verify(module).map_err(|violation| violation.to_string())
}

/// Places the graph, and gives each operand its type and scale from these ranges of values and operands: `annotate
/// TARGET NAME=LOW..HIGH … (operand:NODE:INDEX|value:NAME)=LOW..HIGH … given:NODE:INDEX=TYPE,SCALE,ZERO[,CODE]…
/// type[:NAME]=TYPE … align:KIND=WORD … simplify[@NODE]=off unfit=float`.
///
/// The remarks list what runs on the host, who has a scale to which another reader is aligned, which scales are larger
/// than their ranges ask for, which ranges of rules do not fit, of which ranges one value takes nearly all, and which
/// parts of tensors lose because of larger numbers beside them.
pub(super) fn annotate_graph(module: &mut Module, argument: &str) -> Result<Outcome, String> {
    let words: Vec<&str> = argument.split_whitespace().collect();
    let (name, words) = words.split_first().ok_or("no target is named")?;
    let target = target(name)?;
    let (mut settings, mut constraints, _) = plain(target.spec());
    let words = types(module, words, &mut settings)?;
    let words = alignments(module, words, &mut settings)?;
    let words = simplified(module, words, &mut settings)?;
    let words = ranges(module, words, &mut settings, &mut constraints)?;
    let (unfit, words): (Vec<&str>, Vec<&str>) = words.into_iter().partition(|word| *word == "unfit=float");
    if !unfit.is_empty() {
        settings.default.weights.unfit = Some(Unfit::Float);
    }
    let observation = observation(&words)?;
    let mut how = Annotation::new(target.spec(), &observation, &settings, &constraints);
    let (main, mut fixpoint) = (module.main, Fixpoint::default());
    widen(module, main, &mut how);
    place(module, main, &how);
    annotate(module, &how, &mut fixpoint)?;
    let findings = fixpoint.findings(module, &how);
    let raised = findings.raised.into_iter().map(|raised| {
        let name = module
            .main()
            .node(raised.node)
            .map_or("", |node| module.name(node.name));
        format!("raised {name}: {} channels, {}", raised.channels, raised.reason)
    });
    let raised: Vec<String> = raised.collect();
    let name = |id| module.main().value(id).map_or("", |value| module.name(value.name));
    let lint = |away: GivenAway| {
        let (name, GivenAway { loss, .. }) = (name(away.value), away);
        let channel = loss
            .channel
            .map_or_else(String::new, |channel| format!(" (channel {channel})"));
        let (value, percent, codes) = (loss.extreme, 100.0 * loss.share, loss.codes);
        format!("lint {name}{channel}: {value} takes {percent:.1} %, {codes:.1} codes are left")
    };
    let node = |id: NodeId| module.main().node(id).map_or("", |node| module.name(node.name));
    let lints = findings.given_away.into_iter().map(lint);
    let unlike = |part: UnlikePart| {
        let channels = match &part.kind {
            PartKind::Channels(channels) => format!(" (channels {channels:?})"),
            PartKind::Joined | PartKind::CutOut => String::new(),
        };
        let (value, node, lost) = (name(part.value), node(part.node), part.lost);
        format!(
            "{value}{channels} has {:.1} codes at {node}, {:.1} bits less",
            lost.codes,
            lost.bits()
        )
    };
    let unlike = findings.unlike.into_iter().map(unlike);
    let imposed = findings.overlapped.into_iter().map(|found| {
        let readers: Vec<&str> = found.readers.iter().map(|&id| node(id)).collect();
        let (value, aligned) = (name(found.value), node(found.aligned));
        format!("{value} is on the grid of {aligned} for {}", readers.join(", "))
    });
    let coarser = findings.coarser.into_iter().map(|found| {
        let factor = 1u32.checked_shl(found.doublings).unwrap_or(0);
        format!("{} is {factor} times as coarse: {}", name(found.value), found.reason)
    });
    let ranges = findings.rule_ranges.into_iter().map(|found| {
        let (value, reader, seen) = (name(found.value), node(found.node), found.seen);
        let what = match found.unfitting {
            Unfitting::Clips(share) => format!("clips {:.1} % of", 100.0 * share),
            Unfitting::Wide(times) => format!("is {times:.1} times as wide as"),
            Unfitting::Overruled(ends) => format!("gives way to {ends:?}, beside"),
        };
        format!("the range of {value} at {reader} {what} {seen:?}")
    });
    let told = raised
        .into_iter()
        .chain(imposed)
        .chain(coarser)
        .chain(ranges)
        .chain(lints)
        .chain(unlike);
    let remarks = hosted(module).into_iter().chain(told);
    Ok(Outcome::Module(remarks.collect()))
}

/// `bake TARGET`: replaces the parameters of the annotated graph by codes.
pub(super) fn bake_graph(module: &mut Module, argument: &str) -> Result<Outcome, String> {
    let target = target(argument)?;
    bake(module, target.spec(), &mut Baked::default()).map_err(|error| told(module, error))?;
    verify(module).map_err(|violation| violation.to_string())?;
    Ok(Outcome::Module(Vec::new()))
}

/// `simulate [TARGET [reals|signed|unsigned]]`: the annotated graph in float, with rounding wherever the integer graph
/// has codes. Quantized parameters are real numbers or codes. Codes of activations have the sign that the target gives
/// them, or the one that is named.
pub(super) fn simulate_graph(module: &mut Module, argument: &str) -> Result<Outcome, String> {
    let (name, parameters) = match argument.split_once(' ') {
        None => (argument, Parameters::Codes(Signs::Own)),
        Some((name, "reals")) => (name, Parameters::Reals),
        Some((name, "signed")) => (name, Parameters::Codes(Signs::Signed)),
        Some((name, "unsigned")) => (name, Parameters::Codes(Signs::Unsigned)),
        Some((_, form)) => return Err(format!("`{form}` is no form of parameters")),
    };
    let target = (!name.is_empty()).then(|| target(name)).transpose()?;
    let spec = target.as_ref().map(|target| target.spec());
    *module = simulate(module, spec, parameters).map_err(|error| told(module, error))?;
    verify(module).map_err(|violation| violation.to_string())?;
    Ok(Outcome::Module(Vec::new()))
}

/// Each node that is refused, and why.
fn told(module: &Module, error: LowerError) -> String {
    let name = |id| module.main().node(id).map_or("", |node| module.name(node.name));
    let line = |refusal: &Refusal| {
        let coarser = match refusal.doublings {
            0 => String::new(),
            doublings => format!("; its grid is 2^{doublings} times too fine"),
        };
        format!("{}: {}{coarser}", name(refusal.node), refusal.reason)
    };
    match error {
        LowerError::Nodes(nodes) => nodes.iter().map(line).collect::<Vec<_>>().join("\n"),
        LowerError::Ours(text) => text,
    }
}

/// `lower TARGET`: lowers the annotated graph to integers, after quantizing the parameters if that has not been done.
/// The remarks say how near integers are to the ideal if they were chosen freely.
pub(super) fn lower_graph(module: &mut Module, argument: &str) -> Result<Outcome, String> {
    let target = target(argument)?;
    let baked = bake(module, target.spec(), &mut Baked::default());
    let lowered = baked.and_then(|()| strait_lower::lower(module, target.spec()));
    let lowered = lowered.map_err(|error| told(module, error))?;
    *module = lowered.module;
    verify(module).map_err(|violation| violation.to_string())?;
    let chosen = lowered
        .nearness
        .iter()
        .filter_map(|(name, nearness)| match nearness.nearness()? {
            Nearness::Chosen { found, distance } => Some((name, found, distance?)),
            _ => None,
        });
    let lines = chosen.map(|(name, found, distance)| {
        let (max_lsb, differing, of) = (distance.max_lsb, distance.differing, distance.accumulators);
        format!("{name}: {found:?}, at most {max_lsb} LSB from the ideal, on {differing} of {of} accumulators")
    });
    Ok(Outcome::Module(lines.collect()))
}

/// `fuse TARGET [exact|any|LSB]`: applies the fusion rows of the table. The remarks say which were applied, and why
/// others were refused.
pub(super) fn fuse_graph(module: &mut Module, argument: &str) -> Result<Outcome, String> {
    let (name, policy) = argument.split_once(' ').unwrap_or((argument, "exact"));
    let policy = match policy {
        "exact" => FusionPolicy::Exact,
        "any" => FusionPolicy::Any,
        text => FusionPolicy::Bounded(text.parse().map_err(|_| format!("`{text}` is no policy"))?),
    };
    let target = target(name)?;
    let main = module.main;
    let fusion = strait_lower::fuse(module, main, target.as_ref(), policy);
    let fusion = fusion.map_err(|error| error.to_string())?;
    verify(module).map_err(|violation| violation.to_string())?;
    let near = |tried: &[strait_lower::Attempt]| -> Vec<String> {
        let near = tried.iter().filter(|attempt| attempt.until > Until::Producer);
        near.map(|attempt| format!("  not {}: {}", attempt.row, attempt.reason))
            .collect()
    };
    let merged = fusion.merged.iter().map(|merged| {
        let gone = merged.gone.join(", ");
        format!(
            "{} stands for {gone}: equal requantizations of one accumulator",
            merged.value
        )
    });
    let fired = fusion.fired.iter().flat_map(|fired| {
        let (row, node, value) = (&fired.row, &fired.node, &fired.value);
        let line = format!("row {row} fired at {node}, makes {value}: {}", fired.certificate);
        let dropped = fired.dropped_clamp().map(|reason| format!("  {reason}"));
        std::iter::once(line).chain(dropped).chain(near(&fired.tried))
    });
    let refused = fusion.refused.iter().flat_map(|refused| {
        let (value, node, row) = (&refused.value, &refused.node, refused.row.as_deref().unwrap_or("none"));
        let line = format!("{value} stays behind {node} (row {row}): {}", refused.reason);
        // The first is the row that the line itself names.
        std::iter::once(line).chain(near(&refused.tried).into_iter().skip(1))
    });
    Ok(Outcome::Module(merged.chain(fired).chain(refused).collect()))
}
