use super::*;
use crate::elem::Elem;
use crate::quant::{Granularity, Origin, Policy, QuantParams};
use proptest::prelude::*;
use strait_requantize::Rounding;

/// The number of configs in the property test. Some have the same scheme, and some have channels.
const CONFIGS: usize = 6;

fn scheme(index: usize) -> Scheme {
    let per = [Granularity::Tensor, Granularity::Channel { axis: 0 }][usize::from(index >= 4)];
    let policy = Policy::linear(true, per);
    Scheme::integers(policy, Elem::I8, [-128, 127], Rounding::HalfEven).unwrap()
}

fn empty() -> QuantTable {
    let mut table = QuantTable::default();
    // Configs are added in the reverse order of the entries.
    for index in (0..CONFIGS).rev() {
        table.add(NodeId::new(index / 2), Port::Operand(index % 2), scheme(index));
    }
    table
}

fn nodes() -> Vec<NodeId> {
    (0..CONFIGS / 2).map(NodeId::new).collect()
}

fn any_move() -> impl Strategy<Value = (ConfigId, Move)> {
    let id = || (0..CONFIGS).prop_map(ConfigId::new);
    let data = || (0..3usize).prop_map(DataId::new);
    let params = prop_oneof![
        (1u8..5).prop_map(|scale| QuantParams::tensor(f32::from(scale), 0)),
        Just(QuantParams::channel([1.0, 2.0].into(), 0)),
    ];
    let grid = (params, proptest::sample::select(&Origin::ALL[..]));
    let request = prop_oneof![
        4 => grid.prop_map(|(params, origin)| Move::Activate(Grid::new(params, origin))),
        4 => id().prop_map(Move::DominatedBy),
        2 => id().prop_map(|of| Move::MasteredBy(Derivation::Same(of))),
        2 => (id(), 0u8..20).prop_map(|(of, bits)| Move::MasteredBy(Derivation::Shifted(of, bits))),
        2 => (id(), id()).prop_map(|(one, other)| Move::MasteredBy(Derivation::Product(one, other))),
        2 => data().prop_map(Move::Bake),
        1 => data().prop_map(Move::Choose),
        1 => data().prop_map(Move::Give),
        1 => Just(Move::Unbake),
        1 => Just(Move::Dequantize),
        1 => Just(Move::Restore),
        1 => Just(Move::Reset),
    ];
    (id(), request)
}

/// What has to be equal for a config in two tables. The config is found by node and port, because a table that was read
/// has ids of its own.
fn seen(table: &QuantTable, node: NodeId, port: Port) -> impl PartialEq + std::fmt::Debug + use<> {
    let id = table.id(node, port).unwrap();
    let root = table.config(table.root(id)).unwrap();
    (
        (
            table.state(id),
            table.grid(id),
            table.scheme_of(node, port),
            table.codes(id),
        ),
        (root.node, root.port),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_moves_make_a_table_that_its_entries_make_again(moves in proptest::collection::vec(any_move(), 0..40)) {
        let mut table = empty();
        for (id, request) in moves {
            let before = table.clone();
            if table.transition(id, request).is_err() {
                prop_assert_eq!(table.differences(&before, PartialEq::eq), []);
            }
            // As long as a parameter has codes, their grid does not change.
            for (id, _) in table.iter().filter(|(id, _)| table.codes(*id).is_some() && before.codes(*id).is_some()) {
                prop_assert_eq!(table.kept(id), before.kept(id));
            }
        }
        let entries = table.entries(&nodes()).unwrap();
        let again = QuantTable::from_entries(&entries).map_err(|(_, error)| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(again.entries(&nodes()).unwrap(), entries);
        for (_, config) in table.iter() {
            let place = (config.node, config.port);
            prop_assert_eq!(seen(&again, place.0, place.1), seen(&table, place.0, place.1));
        }
        // If a table's configs were added in the order of its entries, a table from these entries has the same ids.
        let mut twice = QuantTable::from_entries(&again.entries(&nodes()).unwrap()).unwrap();
        prop_assert_eq!(twice.differences(&again, PartialEq::eq), []);
        // If all codes are removed, no codes hold a grid any more.
        for index in 0..CONFIGS {
            let _ = twice.transition(ConfigId::new(index), Move::Restore);
            let _ = twice.transition(ConfigId::new(index), Move::Unbake);
        }
        let given = twice.iter().any(|(id, _)| twice.codes(id).is_some());
        prop_assert!(given || twice.iter().all(|(_, config)| config.held == 0));
    }
}

fn entry(index: usize, standing: Standing) -> Entry {
    Entry {
        node: NodeId::new(index),
        port: Port::Result(0),
        scheme: scheme(0),
        standing,
        parameter: Parameter::Real,
        float: false,
    }
}

fn same(of: usize) -> Standing {
    Standing::Passive(Derivation::Same(ConfigId::new(of)))
}

fn overlapped(by: usize) -> Standing {
    Standing::Overlapped(ConfigId::new(by))
}

#[test]
fn entries_that_are_no_table_are_refused_with_their_position() {
    let refused = |standings: Vec<Standing>| {
        let entries = standings.into_iter().enumerate().map(|(at, s)| entry(at, s));
        let entries: Vec<Entry> = entries.collect();
        QuantTable::from_entries(&entries)
            .map(drop)
            .map_err(|(at, error)| (at, error.to_string()))
    };
    let cases = [
        (vec![same(0)], 0, "its grid would rest on itself"),
        (
            vec![Standing::Initial, same(2), same(1)],
            1,
            "its grid would rest on itself",
        ),
        (vec![overlapped(1), same(0)], 1, "its grid would rest on itself"),
        (vec![same(7)], 0, "there is no such config"),
        (vec![overlapped(7)], 0, "there is no such config"),
        (vec![overlapped(0)], 0, "it would dominate itself"),
        (
            vec![overlapped(1), overlapped(0)],
            1,
            "config0 is not the config whose grid is read here",
        ),
        (
            vec![overlapped(1), overlapped(2), Standing::Initial],
            0,
            "config1 is not the config",
        ),
    ];
    for (standings, position, text) in cases {
        let (at, error) = refused(standings.clone()).unwrap_err();
        assert!(at == position && error.contains(text), "{standings:?}: {at}: {error}");
    }
    let twice = [entry(0, Standing::Initial), entry(0, Standing::Initial)];
    let (node, port) = (NodeId::new(0), Port::Result(0));
    let baked = Entry {
        parameter: Parameter::Baked(ParameterCodes {
            data: DataId::new(0),
            origin: CodesOrigin::Rounded,
        }),
        ..entry(0, Standing::Initial)
    };
    let (at, error) = QuantTable::from_entries(&[baked]).unwrap_err();
    assert!(
        at == 0 && error.to_string().contains("initial cannot become baked"),
        "{error}"
    );
    assert_eq!(
        QuantTable::from_entries(&twice).map(drop),
        Err((1, EntryError::Twice { node, port }))
    );
}

#[test]
fn a_config_of_a_node_that_is_not_listed_is_told() {
    assert_eq!(empty().entries(&nodes()[..2]), Err(NodeId::new(2)));
}

#[test]
fn long_chains_and_deep_products_are_read_in_time() {
    let start = std::time::Instant::now();
    // Each entry is derived twice from the entry after it.
    let product = |at| Standing::Passive(Derivation::Product(ConfigId::new(at + 1), ConfigId::new(at + 1)));
    let mut entries: Vec<Entry> = (0..30_000).map(|at| entry(at, product(at))).collect();
    let own = Grid::new(QuantParams::tensor(1.0, 0), Origin::Observed);
    entries.push(entry(30_000, Standing::Own(own)));
    let table = QuantTable::from_entries(&entries).unwrap();
    assert_eq!(table.state(ConfigId::new(0)), Some(State::PassiveInitial));
    assert_eq!(table.state(ConfigId::new(29_999)), Some(State::Passive));
    assert_eq!(table.iter().filter(|(id, _)| table.grid(*id).is_some()).count(), 5);
    assert!(start.elapsed().as_secs() < 5);
}
