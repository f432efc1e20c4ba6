//! The quantization state machine: one config per operand, and one function that changes states.
//!
//! The states and moves are PPQ's (its public sources, 2024), with its defects mended: every move looks at both sides'
//! roots, and a cycle is refused. Scale and zero point are the root's; policy, width and range are a config's own.
//!
//! ```text
//! Initial ──Activate──▶ Activated ──Bake──▶ Baked
//!    │                     │
//!    ├──DominatedBy──▶ Overlapped          (reads its dominator's grid)
//!    └──MasteredBy───▶ PassiveInitial ──▶ Passive ──Bake──▶ PassiveBaked
//! any ──Dequantize──▶ Float ──Restore──▶ what it was;  Activated ──Reset──▶ Initial
//! ```

use crate::ids::{ConfigId, NodeId};
use crate::quant_params::QuantParams;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;
use strait_requantize::Rounding;

/// Granularity of the scale: the elements that share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// The whole tensor.
    Tensor,
    /// Each index of one axis.
    Channel {
        /// The axis.
        axis: u8,
    },
    /// Each run of `size` elements along one axis.
    Block {
        /// The axis.
        axis: u8,
        /// Elements per scale.
        size: u32,
    },
}

/// The kind of grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Equidistant codes.
    Linear {
        /// The zero point is fixed at 0.
        symmetric: bool,
        /// Scales are powers of two.
        power_of_two: bool,
        /// The range is taken anew for each run.
        dynamic: bool,
        /// Granularity of the scale: the elements that share one.
        per: Granularity,
    },
    /// A small float.
    Floating {
        /// Bits of the exponent.
        exponent_bits: u8,
        /// Granularity of the scale: the elements that share one.
        per: Granularity,
    },
}

/// Where a config stands; written by [`QuantTable::transition`] alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No grid yet.
    Initial,
    /// It has a grid of its own.
    Activated,
    /// It reads the grid of the config that dominates it.
    Overlapped,
    /// Its grid follows from its master's.
    Passive,
    /// It has a master that has no grid yet.
    PassiveInitial,
    /// The parameter was turned into integers.
    Baked,
    /// A passive parameter was turned into integers.
    PassiveBaked,
    /// Not quantized; what it was is kept.
    Float,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Initial => "initial",
            State::Activated => "activated",
            State::Overlapped => "overlapped",
            State::Passive => "passive",
            State::PassiveInitial => "passive initial",
            State::Baked => "baked",
            State::PassiveBaked => "passive baked",
            State::Float => "float",
        })
    }
}

/// Quantization of one operand of one node.
#[derive(Clone, Debug)]
pub struct QuantConfig {
    /// The kind of grid.
    pub policy: Policy,
    /// Width of a code.
    pub bits: u8,
    /// Smallest and largest code.
    pub range: [i64; 2],
    /// Rounding of real numbers to codes.
    pub rounding: Rounding,
    own: Option<Arc<QuantParams>>,
    state: State,
    stored: State,
    /// The config that keeps the books of this one's set.
    leader: ConfigId,
    /// The next member of the set; the last is followed by the first.
    next: ConfigId,
    /// Of a leader: the number of members.
    size: u32,
    /// Of a leader: the member whose grid all of them read.
    root: ConfigId,
}

/// A request to change a config's state.
#[derive(Clone, Debug)]
pub enum Move {
    /// Give it a grid.
    Activate(Arc<QuantParams>),
    /// Let it read another's grid from now on.
    DominatedBy(ConfigId),
    /// Let its grid follow from another's.
    MasteredBy(ConfigId),
    /// Its parameter has become integers.
    Bake,
    /// Take it out of quantization.
    Dequantize,
    /// Undo `Dequantize`.
    Restore,
    /// Forget the grid.
    Reset,
}

/// The configs of one graph, by node and operand: operands first, then results.
#[derive(Clone, Debug, Default)]
pub struct QuantTable {
    configs: Vec<QuantConfig>,
    of: Vec<SmallVec<[Option<ConfigId>; 4]>>,
}

impl QuantTable {
    /// Adds a config in state `Initial` for position `operand` of `node`; results stand behind the operands.
    pub fn add(
        &mut self,
        node: NodeId,
        operand: usize,
        policy: Policy,
        bits: u8,
        range: [i64; 2],
        rounding: Rounding,
    ) -> ConfigId {
        let id = ConfigId::new(self.configs.len());
        let (state, stored) = (State::Initial, State::Initial);
        self.configs.push(QuantConfig {
            policy,
            bits,
            range,
            rounding,
            own: None,
            state,
            stored,
            leader: id,
            next: id,
            size: 1,
            root: id,
        });
        if self.of.len() <= node.index() {
            self.of.resize(node.index() + 1, SmallVec::new());
        }
        let entry = &mut self.of[node.index()];
        if entry.len() <= operand {
            entry.resize(operand + 1, None);
        }
        entry[operand] = Some(id);
        id
    }

    /// The config at position `operand` of `node`.
    pub fn id(&self, node: NodeId, operand: usize) -> Option<ConfigId> {
        *self.of.get(node.index())?.get(operand)?
    }

    /// A config; ids come from this table only.
    pub fn config(&self, id: ConfigId) -> Option<&QuantConfig> {
        self.configs.get(id.index())
    }

    /// The number of configs.
    pub fn len(&self) -> usize {
        self.configs.len()
    }

    /// True if the table is empty.
    pub fn is_empty(&self) -> bool {
        self.configs.is_empty()
    }

    /// The config whose grid is read: itself, or the one that dominates or masters it in the end. It is looked up, not
    /// searched for: whoever joins two sets writes the leader of the smaller one anew, so that n configs cost n log n.
    pub fn root(&self, id: ConfigId) -> ConfigId {
        let leader = self.configs.get(id.index()).map(|config| config.leader);
        let leader = leader.and_then(|leader| self.configs.get(leader.index()));
        leader.map_or(id, |leader| leader.root)
    }

    /// Joins the sets of two configs into one that reads the grid of the second one's root.
    fn join(&mut self, id: ConfigId, to: ConfigId) {
        let root = self.root(to);
        let [one, other] = [id, to].map(|config| self.configs[config.index()].leader);
        if one == other {
            return;
        }
        let sizes = [one, other].map(|leader| self.configs[leader.index()].size);
        let (large, small) = if sizes[0] > sizes[1] {
            (one, other)
        } else {
            (other, one)
        };
        let mut at = small;
        loop {
            self.configs[at.index()].leader = large;
            at = self.configs[at.index()].next;
            if at == small {
                break;
            }
        }
        // Two rings are one ring once a member of each has the other's successor.
        let successors = [large, small].map(|leader| self.configs[leader.index()].next);
        self.configs[large.index()].next = successors[1];
        self.configs[small.index()].next = successors[0];
        self.configs[large.index()].size = sizes[0] + sizes[1];
        self.configs[large.index()].root = root;
    }

    /// Takes a config out of its set, at the cost of the size of the set; a root stays, because the others read its
    /// grid.
    fn part(&mut self, id: ConfigId) {
        if self.root(id) == id {
            return;
        }
        // The root is another member, so there is a next one.
        let (leader, next) = (self.configs[id.index()].leader, self.configs[id.index()].next);
        let (size, root) = (self.configs[leader.index()].size, self.configs[leader.index()].root);
        let (mut at, mut before) = (next, next);
        while at != id {
            self.configs[at.index()].leader = next;
            before = at;
            at = self.configs[at.index()].next;
        }
        self.configs[before.index()].next = next;
        let remaining = &mut self.configs[next.index()];
        (remaining.size, remaining.root) = (size - 1, root);
        let alone = &mut self.configs[id.index()];
        (alone.leader, alone.next, alone.size, alone.root) = (id, id, 1, id);
    }

    /// Where a config stands. Whether a passive config is ready follows from its root, so it is never stored.
    pub fn state(&self, id: ConfigId) -> Option<State> {
        let state = self.config(id)?.state;
        let ready = self.config(self.root(id))?.own.is_some();
        Some(if state == State::Passive && !ready {
            State::PassiveInitial
        } else {
            state
        })
    }

    /// Scale and zero point: the root's, none while the config is `Float`.
    pub fn params(&self, id: ConfigId) -> Option<&Arc<QuantParams>> {
        if self.config(id)?.state == State::Float {
            return None;
        }
        self.config(self.root(id))?.own.as_ref()
    }

    /// The only function that writes a state, and which set a config is in.
    pub fn transition(&mut self, id: ConfigId, request: Move) -> Result<(), Reason> {
        let missing = || Reason::new(ReasonCode::Config, format!("{id} is not in the table"));
        let (state, root) = (self.state(id).ok_or_else(missing)?, self.root(id));
        let refused = |what: &str| {
            Err(Reason::new(
                ReasonCode::QuantizationState,
                format!("{id} in state {state} cannot be {what}"),
            ))
        };
        match request {
            Move::Activate(params) => match state {
                State::Initial | State::Activated if root == id => {
                    self.write(id, State::Activated);
                    self.configs[id.index()].own = Some(params);
                    Ok(())
                }
                _ => refused("activated"),
            },
            Move::DominatedBy(by) | Move::MasteredBy(by) if self.config(by).is_none() => {
                refused(&format!("bound to {by}, which is not in the table"))
            }
            Move::DominatedBy(by) => {
                let dominator = self.root(by);
                if dominator == root {
                    return if by == id {
                        refused("dominated by itself")
                    } else {
                        Ok(())
                    };
                }
                // The root comes along, so it must be as free to move as the config itself.
                let free = |s: Option<State>| matches!(s, Some(State::Initial | State::Activated | State::Overlapped));
                match state {
                    _ if free(Some(state)) && free(self.state(root)) => {
                        // The whole set of `id` comes along.
                        for moved in [root, id] {
                            self.write(moved, State::Overlapped);
                        }
                        self.join(id, dominator);
                        Ok(())
                    }
                    _ => refused("dominated"),
                }
            }
            Move::MasteredBy(by) => {
                let master = self.root(by);
                if master == id {
                    return refused("mastered by a config that depends on it");
                }
                match state {
                    State::Initial | State::Activated | State::Overlapped | State::Passive | State::PassiveInitial => {
                        if master != root {
                            self.part(id);
                            self.join(id, master);
                        }
                        self.write(id, State::Passive);
                        Ok(())
                    }
                    _ => refused("mastered"),
                }
            }
            Move::Bake => match state {
                State::Activated => {
                    self.write(id, State::Baked);
                    Ok(())
                }
                State::Passive => {
                    self.write(id, State::PassiveBaked);
                    Ok(())
                }
                _ => refused("baked"),
            },
            Move::Dequantize => {
                if state != State::Float {
                    // What is written, not what is shown: whether a passive config is ready may change in between.
                    let config = &mut self.configs[id.index()];
                    config.stored = config.state;
                    self.write(id, State::Float);
                }
                Ok(())
            }
            Move::Restore => match state {
                State::Float => {
                    let stored = self.configs[id.index()].stored;
                    self.write(id, stored);
                    Ok(())
                }
                _ => refused("restored"),
            },
            Move::Reset => match state {
                State::Activated if root == id => {
                    self.write(id, State::Initial);
                    self.configs[id.index()].own = None;
                    Ok(())
                }
                _ => refused("reset"),
            },
        }
    }

    fn write(&mut self, id: ConfigId, state: State) {
        self.configs[id.index()].state = state;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::*;

    const ALL: [State; 8] = [
        Initial,
        Activated,
        Overlapped,
        Passive,
        PassiveInitial,
        Baked,
        PassiveBaked,
        Float,
    ];

    fn add(table: &mut QuantTable) -> ConfigId {
        let per = Granularity::Tensor;
        let policy = Policy::Linear {
            symmetric: true,
            power_of_two: false,
            dynamic: false,
            per,
        };
        let operand = table.len();
        table.add(NodeId::new(0), operand, policy, 8, [-128, 127], Rounding::HalfEven)
    }

    fn grid(scale: f32) -> Move {
        Move::Activate(Arc::new(QuantParams::tensor(scale, 0)))
    }

    /// A table with a config in `state`, and another one that is active.
    fn in_state(state: State) -> (QuantTable, ConfigId, ConfigId) {
        let mut table = QuantTable::default();
        let (id, other, empty) = (add(&mut table), add(&mut table), add(&mut table));
        table.transition(other, grid(2.0)).unwrap();
        let moves = match state {
            Initial => vec![],
            Activated => vec![grid(1.0)],
            Overlapped => vec![Move::DominatedBy(other)],
            Passive => vec![Move::MasteredBy(other)],
            PassiveInitial => vec![Move::MasteredBy(empty)],
            Baked => vec![grid(1.0), Move::Bake],
            PassiveBaked => vec![Move::MasteredBy(other), Move::Bake],
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
        // In the order of ALL:                    Initial        Activated   Overlapped  Passive        PassiveInitial  Baked     PassiveBaked  Float
        let expected: [(&str, fn(ConfigId) -> Move, [Option<State>; 8]); 7] = [
            (
                "activate",
                |_| grid(3.0),
                [s(Activated), s(Activated), no, no, no, no, no, no],
            ),
            (
                "dominate",
                Move::DominatedBy,
                [
                    s(Overlapped),
                    s(Overlapped),
                    s(Overlapped),
                    s(Passive),
                    no,
                    no,
                    s(PassiveBaked),
                    no,
                ],
            ),
            (
                "master",
                Move::MasteredBy,
                [s(Passive), s(Passive), s(Passive), s(Passive), s(Passive), no, no, no],
            ),
            (
                "bake",
                |_| Move::Bake,
                [no, s(Baked), no, s(PassiveBaked), no, no, no, no],
            ),
            ("dequantize", |_| Move::Dequantize, [s(Float); 8]),
            ("restore", |_| Move::Restore, [no, no, no, no, no, no, no, s(Initial)]),
            ("reset", |_| Move::Reset, [no, s(Initial), no, no, no, no, no, no]),
        ];
        for (name, request, results) in expected {
            for (state, expect) in ALL.into_iter().zip(results) {
                let (mut table, id, other) = in_state(state);
                let done = table.transition(id, request(other));
                assert_eq!(done.is_ok(), expect.is_some(), "{name} from {state}: {done:?}");
                assert_eq!(table.state(id), Some(expect.unwrap_or(state)), "{name} from {state}");
            }
        }
    }

    #[test]
    fn what_is_refused_changes_nothing_and_names_the_state() {
        let (mut table, id, _) = in_state(Baked);
        let reason = table.transition(id, Move::Reset).unwrap_err();
        assert_eq!(
            reason.to_string(),
            "config0 in state baked cannot be reset [quantization-state]"
        );
        let missing = table.transition(ConfigId::new(9), Move::Bake).unwrap_err();
        assert_eq!(missing.code, ReasonCode::Config);
        assert!(table.transition(id, Move::DominatedBy(ConfigId::new(9))).is_err());
    }

    #[test]
    fn no_chain_of_moves_makes_a_cycle() {
        let mut table = QuantTable::default();
        let ids: Vec<ConfigId> = (0..4).map(|_| add(&mut table)).collect();
        table.transition(ids[0], Move::DominatedBy(ids[1])).unwrap();
        table.transition(ids[1], Move::DominatedBy(ids[2])).unwrap();
        assert_eq!(table.root(ids[0]), ids[2]);
        assert!(table.transition(ids[2], Move::MasteredBy(ids[0])).is_err());
        // Already in one tree: nothing to do.
        table.transition(ids[2], Move::DominatedBy(ids[0])).unwrap();
        assert!(table.transition(ids[3], Move::DominatedBy(ids[3])).is_err());
        assert!(table.transition(ids[3], Move::MasteredBy(ids[3])).is_err());
        // The whole tree comes along.
        table.transition(ids[0], Move::DominatedBy(ids[3])).unwrap();
        assert!(ids.iter().all(|&id| table.root(id) == ids[3]));
    }

    #[test]
    fn a_hundred_thousand_configs_in_one_set_know_their_root_at_once() {
        // As concats of concats bind them: each root is dominated by the next result.
        let mut table = QuantTable::default();
        let ids: Vec<ConfigId> = (0..100_000).map(|_| add(&mut table)).collect();
        for pair in ids.windows(2) {
            table.transition(pair[0], Move::DominatedBy(pair[1])).unwrap();
        }
        let start = std::time::Instant::now();
        assert!(ids.iter().all(|&id| Some(&table.root(id)) == ids.last()));
        // A chain of parents would be five thousand million steps.
        assert!(start.elapsed().as_secs() < 5);
    }

    #[test]
    fn what_is_mastered_leaves_its_set_alone_and_a_root_takes_its_set_along() {
        let mut table = QuantTable::default();
        let ids: Vec<ConfigId> = (0..5).map(|_| add(&mut table)).collect();
        table.transition(ids[1], Move::DominatedBy(ids[0])).unwrap();
        table.transition(ids[2], Move::DominatedBy(ids[0])).unwrap();
        table.transition(ids[1], Move::MasteredBy(ids[3])).unwrap();
        let roots = |table: &QuantTable| ids.iter().map(|&id| table.root(id).index()).collect::<Vec<_>>();
        assert_eq!(roots(&table), [0, 3, 0, 3, 4]);
        table.transition(ids[0], Move::MasteredBy(ids[4])).unwrap();
        assert_eq!(roots(&table), [4, 3, 4, 3, 4]);
    }

    #[test]
    fn a_tree_reads_the_grid_of_its_root() {
        let mut table = QuantTable::default();
        let (root, overlapped, passive) = (add(&mut table), add(&mut table), add(&mut table));
        table.transition(overlapped, Move::DominatedBy(root)).unwrap();
        table.transition(passive, Move::MasteredBy(overlapped)).unwrap();
        assert_eq!(
            (table.params(overlapped), table.state(passive)),
            (None, Some(PassiveInitial))
        );
        table.transition(root, grid(0.5)).unwrap();
        let scale = |id| table.params(id).and_then(|p| p.as_tensor()).map(|(scale, _)| scale);
        assert_eq!([root, overlapped, passive].map(scale), [Some(0.5); 3]);
        assert_eq!(table.state(passive), Some(Passive));
    }

    #[test]
    fn what_is_restored_is_as_ready_as_its_root_is_by_then() {
        let mut table = QuantTable::default();
        let (master, id) = (add(&mut table), add(&mut table));
        table.transition(id, Move::MasteredBy(master)).unwrap();
        table.transition(id, Move::Dequantize).unwrap();
        assert_eq!(table.params(id), None);
        table.transition(master, grid(0.5)).unwrap();
        table.transition(id, Move::Restore).unwrap();
        assert_eq!(table.state(id), Some(Passive));
    }
}
