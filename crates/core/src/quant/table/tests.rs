use super::*;
use crate::elem::Elem;
use crate::quant::Policy;
use State::*;
use strait_requantize::Rounding;

fn scheme(elem: Elem, range: [i64; 2]) -> Scheme {
    let policy = Policy::linear(true, Granularity::Tensor);
    Scheme::integers(policy, elem, range, Rounding::HalfEven).unwrap()
}

fn add(table: &mut QuantTable) -> ConfigId {
    let port = Port::Operand(table.len());
    table.add(NodeId::new(0), port, scheme(Elem::I8, [-128, 127]))
}

fn tensor(scale: f32, origin: Origin) -> Move {
    Move::Activate(Grid::new(QuantParams::tensor(scale, 0), origin))
}

fn grid(scale: f32) -> Move {
    tensor(scale, Origin::Observed)
}

fn same(master: ConfigId) -> Move {
    Move::MasteredBy(Derivation::Same(master))
}

fn bake() -> Move {
    Move::Bake(DataId::new(0))
}

fn scale(table: &QuantTable, id: ConfigId) -> Option<f32> {
    Some(table.params(id)?.as_tensor()?.0)
}

/// A table with a config in the state `state`, and another config that is activated.
fn in_state(state: State) -> (QuantTable, ConfigId, ConfigId) {
    let mut table = QuantTable::default();
    let (id, other, empty) = (add(&mut table), add(&mut table), add(&mut table));
    table.transition(other, grid(2.0)).unwrap();
    let moves = match state {
        Initial => vec![],
        Activated => vec![grid(1.0)],
        Overlapped => vec![Move::DominatedBy(other)],
        Passive => vec![same(other)],
        PassiveInitial => vec![same(empty)],
        Baked => vec![grid(1.0), bake()],
        PassiveBaked => vec![same(other), bake()],
        Float => vec![Move::Dequantize],
    };
    for request in moves {
        table.transition(id, request).unwrap();
    }
    assert_eq!(table.state(id), Some(state));
    (table, id, other)
}

#[test]
fn each_move_leads_where_the_table_says_or_is_refused() {
    let no = None;
    let s = Some;
    // The results in the order of State::ALL: Initial, Activated, Overlapped, Passive, PassiveInitial, Baked,
    // PassiveBaked, Float
    let expected: [(&str, fn(ConfigId) -> Move, [Option<State>; 8]); 8] = [
        (
            "activate",
            |_| grid(3.0),
            [s(Activated), s(Activated), no, no, no, no, no, no],
        ),
        (
            "dominate",
            Move::DominatedBy,
            [s(Overlapped), s(Overlapped), s(Overlapped), no, no, no, no, no],
        ),
        (
            "master",
            same,
            [s(Passive), s(Passive), s(Passive), s(Passive), s(Passive), no, no, no],
        ),
        ("bake", |_| bake(), [no, s(Baked), no, s(PassiveBaked), no, no, no, no]),
        (
            "unbake",
            |_| Move::Unbake,
            [no, no, no, no, no, s(Activated), s(Passive), no],
        ),
        ("dequantize", |_| Move::Dequantize, [s(Float); 8]),
        ("restore", |_| Move::Restore, [no, no, no, no, no, no, no, s(Initial)]),
        ("reset", |_| Move::Reset, [no, s(Initial), no, no, no, no, no, no]),
    ];
    for (name, request, results) in expected {
        for (state, expect) in State::ALL.into_iter().zip(results) {
            let (mut table, id, other) = in_state(state);
            let done = table.transition(id, request(other));
            assert_eq!(done.is_ok(), expect.is_some(), "{name} from {state}: {done:?}");
            assert_eq!(table.state(id), Some(expect.unwrap_or(state)), "{name} from {state}");
        }
    }
}

#[test]
fn what_is_refused_changes_nothing_and_names_operand_and_states() {
    let (mut table, id, other) = in_state(Baked);
    let before = table.clone();
    let refused = table.transition(id, Move::Reset).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "operand 0 of node0 in the state baked cannot become initial"
    );
    let missing = ConfigId::new(9);
    assert!(table.transition(missing, bake()).is_err());
    assert!(table.transition(other, Move::DominatedBy(missing)).is_err());
    assert!(table.transition(other, same(missing)).is_err());
    assert_eq!(table.differences(&before, PartialEq::eq), []);
}

#[test]
fn domination_needs_equal_schemes() {
    let mut table = QuantTable::default();
    let one = add(&mut table);
    for other in [
        scheme(Elem::I8, [-127, 127]),
        scheme(Elem::I16, [-128, 127]),
        Scheme::integers(
            Policy::linear(false, Granularity::Tensor),
            Elem::I8,
            [-128, 127],
            Rounding::HalfEven,
        )
        .unwrap(),
        Scheme::integers(
            Policy::linear(true, Granularity::Tensor),
            Elem::I8,
            [-128, 127],
            Rounding::HalfUp,
        )
        .unwrap(),
    ] {
        let another = table.add(NodeId::new(1), Port::Result(0), other);
        let refused = table.transition(another, Move::DominatedBy(one)).unwrap_err();
        assert!(refused.to_string().contains("another type, policy, range or rounding"));
        // A config whose grid is derived may have another scheme than its master.
        table.transition(another, same(one)).unwrap();
    }
}

#[test]
fn no_chain_of_moves_makes_a_cycle() {
    let mut table = QuantTable::default();
    let ids: Vec<ConfigId> = (0..5).map(|_| add(&mut table)).collect();
    table.transition(ids[0], Move::DominatedBy(ids[1])).unwrap();
    table.transition(ids[1], Move::DominatedBy(ids[2])).unwrap();
    assert_eq!(table.root(ids[0]), ids[2]);
    // The set would read the grid of its root, and the root's grid would be derived from that of the set.
    assert!(table.transition(ids[2], same(ids[0])).is_err());
    // Both configs are already in one set, so nothing changes.
    table.transition(ids[2], Move::DominatedBy(ids[0])).unwrap();
    assert!(table.transition(ids[3], Move::DominatedBy(ids[3])).is_err());
    assert!(table.transition(ids[3], same(ids[3])).is_err());
    // The whole set joins the other set.
    table.transition(ids[0], Move::DominatedBy(ids[3])).unwrap();
    assert!(ids[..4].iter().all(|&id| table.root(id) == ids[3]));
    // A cycle through a derivation and a set is refused, too.
    table.transition(ids[4], same(ids[0])).unwrap();
    assert!(table.transition(ids[3], Move::DominatedBy(ids[4])).is_err());
    assert!(table.transition(ids[3], same(ids[4])).is_err());
}

#[test]
fn what_would_leave_its_set_rests_on_nothing_that_rests_on_it() {
    let (mut table, id, other) = in_state(Overlapped);
    assert!(table.transition(id, same(id)).is_err());
    let third = add(&mut table);
    table.transition(third, same(id)).unwrap();
    assert!(table.transition(id, same(third)).is_err());
    assert_eq!((table.state(id), table.root(id)), (Some(Overlapped), other));
}

#[test]
fn a_hundred_thousand_configs_in_one_set_know_their_root_at_once() {
    // As in a chain of concats: each root is dominated by the result of the next concat.
    let mut table = QuantTable::default();
    let ids: Vec<ConfigId> = (0..100_000).map(|_| add(&mut table)).collect();
    let start = std::time::Instant::now();
    for pair in ids.windows(2) {
        table.transition(pair[0], Move::DominatedBy(pair[1])).unwrap();
    }
    assert!(ids.iter().all(|&id| Some(&table.root(id)) == ids.last()));
    // Walking up a chain of parents would take five thousand million steps.
    assert!(start.elapsed().as_secs() < 5);
}

#[test]
fn what_is_mastered_leaves_its_set_and_a_root_takes_its_set_along() {
    let mut table = QuantTable::default();
    let ids: Vec<ConfigId> = (0..5).map(|_| add(&mut table)).collect();
    for (id, scale) in [(0, 1.0), (3, 3.0), (4, 4.0)] {
        table.transition(ids[id], grid(scale)).unwrap();
    }
    table.transition(ids[1], Move::DominatedBy(ids[0])).unwrap();
    table.transition(ids[2], Move::DominatedBy(ids[1])).unwrap();
    table.transition(ids[1], same(ids[3])).unwrap();
    let scales = |table: &QuantTable| ids.iter().map(|&id| scale(table, id).unwrap()).collect::<Vec<_>>();
    assert_eq!(scales(&table), [1.0, 3.0, 1.0, 3.0, 4.0]);
    table.transition(ids[0], same(ids[4])).unwrap();
    assert_eq!(scales(&table), [4.0, 3.0, 4.0, 3.0, 4.0]);
}

#[test]
fn derived_grids_follow_those_that_they_rest_on() {
    let mut table = QuantTable::default();
    let (x, weight) = (add(&mut table), add(&mut table));
    let per = Granularity::Channel { axis: 0 };
    let wide = Scheme::integers(
        Policy::linear(true, per),
        Elem::I32,
        [i64::from(i32::MIN), i64::from(i32::MAX)],
        Rounding::HalfEven,
    )
    .unwrap();
    let bias = table.add(NodeId::new(0), Port::Operand(2), wide);
    let product = Move::MasteredBy(Derivation::Product(x, weight));
    table.transition(bias, product).unwrap();
    assert_eq!((table.state(bias), table.params(bias)), (Some(PassiveInitial), None));
    table.transition(x, grid(0.5)).unwrap();
    let channels = QuantParams::channel([2.0, 4.0].into(), 0);
    let channels = Move::Activate(Grid::new(channels, Origin::Observed));
    table.transition(weight, channels).unwrap();
    let scales = |table: &QuantTable| table.params(bias).unwrap().scale.values().to_vec();
    assert_eq!((table.state(bias), scales(&table)), (Some(Passive), vec![1.0, 2.0]));
    table.transition(x, grid(0.25)).unwrap();
    assert_eq!(scales(&table), [0.5, 1.0]);
    assert_eq!(table.grid(bias).unwrap().origin, Origin::Derived);
    // The grid without the lowest bits, in each channel.
    let short = table.add(NodeId::new(1), Port::Operand(0), wide);
    table
        .transition(short, Move::MasteredBy(Derivation::Shifted(bias, 3)))
        .unwrap();
    let shifted = table.params(short).unwrap();
    assert_eq!(
        (shifted.scale.values().to_vec(), shifted.axis),
        (vec![4.0, 8.0], Some(0))
    );
}

#[test]
fn what_is_restored_is_as_ready_as_its_master_is_by_then() {
    let mut table = QuantTable::default();
    let (master, id) = (add(&mut table), add(&mut table));
    table.transition(id, same(master)).unwrap();
    table.transition(id, Move::Dequantize).unwrap();
    table.transition(id, Move::Dequantize).unwrap();
    assert_eq!(table.params(id), None);
    table.transition(master, grid(0.5)).unwrap();
    table.transition(id, Move::Restore).unwrap();
    assert_eq!((table.state(id), scale(&table, id)), (Some(Passive), Some(0.5)));
}

#[test]
fn a_given_grid_is_pinned() {
    let mut table = QuantTable::default();
    let (given, other) = (add(&mut table), add(&mut table));
    table.transition(given, tensor(0.5, Origin::Given)).unwrap();
    table.transition(other, grid(1.0)).unwrap();
    for request in [
        grid(1.0),
        tensor(1.0, Origin::Coarsened),
        Move::DominatedBy(other),
        same(other),
        Move::Reset,
    ] {
        let refused = table.transition(given, request).unwrap_err();
        assert_eq!(refused.why, PINNED);
    }
    // A set with the same grid may join the set of the pinned grid, and reads its grid from then on.
    table.transition(other, tensor(0.5, Origin::Observed)).unwrap();
    table.transition(other, Move::DominatedBy(given)).unwrap();
    assert_eq!(scale(&table, other), Some(0.5));
    table.transition(given, tensor(0.25, Origin::Given)).unwrap();
    assert_eq!(scale(&table, other), Some(0.25));
}

#[test]
fn the_grids_that_codes_rest_on_stay_until_the_codes_go() {
    let mut table = QuantTable::default();
    let ids: Vec<ConfigId> = (0..5).map(|_| add(&mut table)).collect();
    let [x, reader, weight, bias, other] = ids[..] else {
        unreachable!()
    };
    for (id, scale) in [(x, 1.0), (weight, 0.5), (other, 3.0)] {
        table.transition(id, grid(scale)).unwrap();
    }
    table.transition(reader, Move::DominatedBy(x)).unwrap();
    let product = Move::MasteredBy(Derivation::Product(reader, weight));
    table.transition(bias, product).unwrap();
    table.transition(bias, bake()).unwrap();
    let resting = table.iter().filter(|(_, config)| config.holds.contains(&x));
    assert_eq!(resting.map(|(id, _)| id).collect::<Vec<_>>(), [bias]);
    let grids: [(ConfigId, Move); 6] = [
        (x, grid(2.0)),
        (x, Move::Reset),
        (x, Move::DominatedBy(other)),
        (reader, Move::DominatedBy(other)),
        (reader, same(other)),
        (weight, Move::Reset),
    ];
    for (id, request) in grids {
        let refused = table.transition(id, request.clone()).unwrap_err();
        assert_eq!(refused.why, HELD, "{request:?}");
    }
    // Other configs may join or leave the set whose grid the codes depend on.
    table.transition(other, Move::DominatedBy(reader)).unwrap();
    table.transition(other, same(weight)).unwrap();
    // While a parameter is excluded from quantization, its codes are kept, and their grids still cannot change.
    table.transition(bias, Move::Dequantize).unwrap();
    assert_eq!(table.baked(NodeId::new(0), Port::Operand(3)), None);
    assert_eq!(table.transition(weight, Move::Reset).unwrap_err().why, HELD);
    table.transition(bias, Move::Restore).unwrap();
    assert_eq!(table.baked(NodeId::new(0), Port::Operand(3)), Some(DataId::new(0)));
    table.transition(bias, Move::Unbake).unwrap();
    assert_eq!((table.state(bias), table.codes(bias)), (Some(Passive), None));
    table.transition(x, grid(2.0)).unwrap();
    assert_eq!(scale(&table, bias), Some(1.0));
}

#[test]
fn given_codes_are_pinned_with_their_grid_and_are_what_bake_takes() {
    let (mut table, id, _) = in_state(Activated);
    let (given, another) = (DataId::new(7), DataId::new(8));
    // Codes can only be given on a grid that was given, not on an observed grid.
    assert!(table.transition(id, Move::Give(given)).is_err());
    table.transition(id, tensor(0.5, Origin::Given)).unwrap();
    table.transition(id, Move::Give(given)).unwrap();
    assert_eq!(table.transition(id, Move::Give(another)).unwrap_err().why, GIVEN);
    assert_eq!(table.transition(id, Move::Bake(another)).unwrap_err().why, GIVEN);
    assert_eq!(table.transition(id, tensor(0.25, Origin::Given)).unwrap_err().why, HELD);
    table.transition(id, Move::Bake(given)).unwrap();
    table.transition(id, Move::Unbake).unwrap();
    assert_eq!(
        table.codes(id),
        Some(ParameterCodes {
            data: given,
            origin: CodesOrigin::Given
        })
    );
    // The codes of a bias hold the grids from which the grid of the bias is derived.
    let (mut table, bias, master) = in_state(Passive);
    table.transition(bias, Move::Give(given)).unwrap();
    assert_eq!(table.transition(master, grid(9.0)).unwrap_err().why, HELD);
}

#[test]
fn a_clone_tells_what_was_written_since() {
    let mut table = QuantTable::default();
    let ids: Vec<ConfigId> = (0..1000).map(|_| add(&mut table)).collect();
    for &id in &ids[1..10] {
        table.transition(id, Move::DominatedBy(ids[0])).unwrap();
    }
    table.transition(ids[500], same(ids[3])).unwrap();
    let mut other = table.clone();
    assert_eq!(table.differences(&other, PartialEq::eq), []);
    other.transition(ids[0], grid(1.0)).unwrap();
    // The differences are the root, the other configs of its set, and the config that is derived from the set.
    let ports = |found: Vec<(NodeId, Port)>| found.into_iter().map(|(_, port)| port).collect::<Vec<_>>();
    let mut expected: Vec<Port> = (0..10).map(Port::Operand).collect();
    expected.push(Port::Operand(500));
    assert_eq!(ports(table.differences(&other, PartialEq::eq)), expected);
}

#[test]
fn a_config_that_is_withdrawn_leaves_the_others_as_they_were() {
    let mut table = QuantTable::default();
    let ids: Vec<ConfigId> = (0..4).map(|_| add(&mut table)).collect();
    table.transition(ids[0], grid(1.0)).unwrap();
    table.transition(ids[1], Move::DominatedBy(ids[0])).unwrap();
    table.transition(ids[3], grid(4.0)).unwrap();
    let before = table.clone();
    table.withdraw([ids[0], ids[1], ids[0]]);
    assert_eq!((table.len(), table.bound(), table.iter().count()), (2, 4, 2));
    let place = (NodeId::new(0), Port::Operand(0));
    assert_eq!(
        (table.id(place.0, place.1), table.config(ids[0]).is_none()),
        (None, true)
    );
    assert!(table.transition(ids[1], Move::Dequantize).is_err());
    assert_eq!((scale(&table, ids[3]), scale(&before, ids[1])), (Some(4.0), Some(1.0)));
    assert_eq!(before.differences(&table, PartialEq::eq).len(), 2);
    // The operand may get another config, which has another id.
    let again = table.add(place.0, place.1, scheme(Elem::I8, [-128, 127]));
    assert_eq!((again, table.id(place.0, place.1)), (ConfigId::new(4), Some(again)));
    // If the new config equals the old one, it does not count as a difference. The other operand still has no config.
    table.transition(again, grid(1.0)).unwrap();
    assert_eq!(
        before.differences(&table, PartialEq::eq),
        [(NodeId::new(0), Port::Operand(1))]
    );
    let entries = table.entries(&[NodeId::new(0)]).unwrap();
    assert_eq!(
        (entries.len(), QuantTable::from_entries(&entries).unwrap().len()),
        (3, 3)
    );
}
