//! The quantization configs of one graph, and the only function that changes their states.
//!
//! ```text
//! initial ──Activate──▶ activated ──Bake──▶ baked
//!    │                     │
//!    ├──DominatedBy──▶ overlapped          (reads its dominator's grid)
//!    └──MasteredBy───▶ passive_initial ──▶ passive ──Bake──▶ passive_baked
//! any ──Dequantize──▶ float ──Restore──▶ what it was;  activated ──Reset──▶ initial;  baked ──Unbake──▶ what it was
//! ```
//!
//! `DominatedBy` joins two sets of configs into one. All configs of a set read the grid of its root, and have the same
//! scheme. `MasteredBy` derives the grid of a config from the grids of other configs, its masters, which are not in its
//! set. The table stores only the derivation, and computes the grid whenever it is read, so the grid is always up to
//! date. Cycles of dominations or derivations are refused. A grid that the model or a calibration record gives is
//! pinned. A grid cannot change while there are codes that depend on it; they have to be removed first.

use super::config::{CodesOrigin, Derivation, Grid, Move, Origin, ParameterCodes, QuantConfig, State};
use super::params::QuantParams;
use super::policy::Granularity;
use super::port::Port;
use super::scheme::Scheme;
use super::sets::Sets;
use crate::ids::{ConfigId, DataId, NodeId};
use crate::shared_vec::SharedVec;
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The largest number of grids from which one grid may be derived, directly or indirectly. Usually there are few: for
/// example, the grid of a bias is derived from the grids of an operand and of the weights. But if a grid of products is
/// derived from two grids of products, and so on, the number of grids doubles with each step. So the number of grids is
/// limited, and not the number of steps.
const MOST_MASTERS: usize = 32;

/// A transition that is not allowed. The pass or the file that asked for it is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} in the state {from} cannot become {to}{}", .port.of(*.node), .why.map(|why| format!(": {why}")).unwrap_or_default())]
pub struct IllegalMove {
    /// The node, or [`NodeId::OUTSIDE`] for an input or output of the graph.
    pub node: NodeId,
    /// The operand or result of the node, or the input or output of the graph.
    pub port: Port,
    /// The state that the config is in.
    pub from: State,
    /// The state that was requested.
    pub to: &'static str,
    /// Why the transition is refused, if the states alone do not explain it.
    pub why: Option<&'static str>,
}

/// The configs of one graph, by node and port. A clone shares its memory with the original, except for what one of them
/// has written since.
#[derive(Clone, Debug, Default)]
pub struct QuantTable {
    configs: SharedVec<QuantConfig>,
    of: SharedVec<Ports>,
    /// The configs of the graph's inputs and outputs. For them, everything outside of the graph is one node: its
    /// results are the graph's inputs, and its operands are the graph's outputs.
    border: Arc<Ports>,
    sets: Sets,
    /// The number of configs that were removed.
    withdrawn: usize,
}

/// The configs of one node, or of the graph's inputs and outputs.
#[derive(Clone, Debug, Default)]
struct Ports {
    operands: SmallVec<[Option<ConfigId>; 3]>,
    results: SmallVec<[Option<ConfigId>; 1]>,
}

impl Ports {
    fn get(&self, port: Port) -> Option<ConfigId> {
        match port {
            Port::Operand(index) | Port::Output(index) => *self.operands.get(index)?,
            Port::Result(index) | Port::Input(index) => *self.results.get(index)?,
        }
    }

    fn set(&mut self, port: Port, id: Option<ConfigId>) {
        fn put<const N: usize>(list: &mut SmallVec<[Option<ConfigId>; N]>, index: usize, id: Option<ConfigId>)
        where
            [Option<ConfigId>; N]: smallvec::Array<Item = Option<ConfigId>>,
        {
            if list.len() <= index {
                list.resize(index + 1, None);
            }
            list[index] = id;
        }
        match port {
            Port::Operand(index) | Port::Output(index) => put(&mut self.operands, index, id),
            Port::Result(index) | Port::Input(index) => put(&mut self.results, index, id),
        }
    }
}

impl QuantTable {
    /// Adds a config in state `initial`. For an input or output of the graph, `node` is ignored and [`NodeId::OUTSIDE`]
    /// is used.
    pub fn add(&mut self, node: NodeId, port: Port, scheme: Scheme) -> ConfigId {
        let id = ConfigId::new(self.configs.len());
        let node = if port.is_border() { NodeId::OUTSIDE } else { node };
        self.configs.push(QuantConfig {
            node,
            port,
            scheme,
            own: None,
            derivation: None,
            state: State::Initial,
            stored: State::Initial,
            codes: None,
            holds: SmallVec::new(),
            held: 0,
            withdrawn: false,
        });
        self.sets.add(id);
        while !port.is_border() && self.of.len() <= node.index() {
            self.of.push(Ports::default());
        }
        if let Some(ports) = self.ports_mut(node, port) {
            ports.set(port, Some(id));
        }
        id
    }

    /// Returns the config of an operand or result of a node, or of an input or output of the graph.
    pub fn id(&self, node: NodeId, port: Port) -> Option<ConfigId> {
        match port.is_border() {
            true => self.border.get(port),
            false => self.of.get(node.index())?.get(port),
        }
    }

    fn ports_mut(&mut self, node: NodeId, port: Port) -> Option<&mut Ports> {
        match port.is_border() {
            true => Some(Arc::make_mut(&mut self.border)),
            false => self.of.get_mut(node.index()),
        }
    }

    /// Removes configs, for example those of a node that moves to the host. The other configs keep their ids. The
    /// caller has to remove whole sets, together with all configs whose grids are derived from these sets. Otherwise
    /// the grid of a remaining config would no longer exist.
    pub fn withdraw(&mut self, ids: impl IntoIterator<Item = ConfigId>) {
        for id in ids {
            let Some((node, port)) = self.config(id).map(|config| (config.node, config.port)) else {
                continue;
            };
            self.release(id);
            self.write(id, |config| {
                config.withdrawn = true;
                config.own = None;
                config.derivation = None;
                config.state = State::Initial;
            });
            self.withdrawn += 1;
            if let Some(ports) = self.ports_mut(node, port) {
                ports.set(port, None);
            }
        }
    }

    /// Returns the config with this id, unless it was removed. The id has to belong to this table.
    pub fn config(&self, id: ConfigId) -> Option<&QuantConfig> {
        self.configs.get(id.index()).filter(|config| !config.withdrawn)
    }

    /// Returns the number of configs.
    pub fn len(&self) -> usize {
        self.configs.len() - self.withdrawn
    }

    /// Returns one more than the largest index of an id so far. This is the length of a table indexed by config.
    pub fn bound(&self) -> usize {
        self.configs.len()
    }

    /// True if the table is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all configs, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (ConfigId, &QuantConfig)> {
        let configs = self.configs.iter().enumerate().filter(|(_, config)| !config.withdrawn);
        configs.map(|(index, config)| (ConfigId::new(index), config))
    }

    /// Returns the root of the set that the config `id` is in. The config `id` reads the root's grid. A config that is
    /// alone in its set is its own root.
    pub fn root(&self, id: ConfigId) -> ConfigId {
        self.sets.root(id)
    }

    /// Returns the state of a config. `Passive` and `PassiveInitial` are told apart here: a passive config has a grid
    /// as soon as all its masters have grids.
    pub fn state(&self, id: ConfigId) -> Option<State> {
        let config = self.config(id)?;
        let ready = || self.derived(config, &mut 0).is_some();
        Some(match config.state {
            State::Passive if !ready() => State::PassiveInitial,
            state => state,
        })
    }

    /// Returns the grid that a config has or reads; `None` while the config is in the state float.
    pub fn grid(&self, id: ConfigId) -> Option<Grid> {
        if self.config(id)?.state == State::Float {
            return None;
        }
        self.kept(id)
    }

    /// Like [`QuantTable::grid`]. But for a config in the state float, returns the grid that it would have or read
    /// after it is restored.
    pub(crate) fn kept(&self, id: ConfigId) -> Option<Grid> {
        self.read(id, &mut 0)
    }

    /// Returns the scale and zero point of the grid that a config has or reads; see [`QuantTable::grid`].
    pub fn params(&self, id: ConfigId) -> Option<Arc<QuantParams>> {
        self.grid(id).map(|grid| grid.params)
    }

    /// Returns the scale and zero point of an operand or a result.
    pub fn params_of(&self, node: NodeId, port: Port) -> Option<Arc<QuantParams>> {
        self.params(self.id(node, port)?)
    }

    /// Returns the scheme of an operand or a result.
    pub fn scheme_of(&self, node: NodeId, port: Port) -> Option<Scheme> {
        Some(self.config(self.id(node, port)?)?.scheme)
    }

    /// Returns how the grid of a passive config is derived.
    pub fn derivation(&self, id: ConfigId) -> Option<Derivation> {
        self.config(id)?.derivation
    }

    /// Returns the codes of a parameter that was converted to codes, or whose codes are given. If the config is in the
    /// state float, returns the codes that it would have after it is restored.
    pub fn codes(&self, id: ConfigId) -> Option<ParameterCodes> {
        self.config(id)?.codes
    }

    /// Returns the codes that a node reads for an operand. Returns `None` unless the operand is a parameter that was
    /// converted to codes.
    pub fn baked(&self, node: NodeId, port: Port) -> Option<DataId> {
        let config = self.config(self.id(node, port)?)?;
        let baked = matches!(config.state, State::Baked | State::PassiveBaked);
        Some(config.codes.filter(|_| baked)?.data)
    }

    /// Returns the grid of a config. Adds to `masters` the number of grids that are read to compute it.
    fn read(&self, id: ConfigId, masters: &mut usize) -> Option<Grid> {
        let root = self.config(self.root(id))?;
        root.own.clone().or_else(|| {
            let params = self.derived(root, masters)?;
            Some(Grid::new(params, Origin::Derived))
        })
    }

    /// Computes the grid of a passive config.
    fn derived(&self, config: &QuantConfig, masters: &mut usize) -> Option<Arc<QuantParams>> {
        let mut master = |id| {
            *masters += 1;
            (*masters <= MOST_MASTERS).then(|| self.read(id, masters))?
        };
        match config.derivation? {
            Derivation::Same(id) => master(id).map(|grid| grid.params),
            Derivation::Shifted(id, bits) => master(id)?.params.shifted(bits).map(Arc::new),
            Derivation::Product(first, second) => {
                let (first, second) = (master(first)?.params, master(second)?.params);
                // Products have a channel axis only if the policy is per channel.
                let axis = match config.scheme.policy().per() {
                    Granularity::Channel { axis } => Some(axis),
                    Granularity::Tensor | Granularity::Block { .. } => None,
                };
                first.product(&second, axis).map(Arc::new)
            }
        }
    }

    /// Returns the operands and results whose scheme, state, grid or codes differ between this table and `other`, in
    /// the order of the configs. `same` tells whether codes of this table are equal to codes of `other`.
    pub fn differences(&self, other: &QuantTable, same: impl Fn(&DataId, &DataId) -> bool) -> Vec<(NodeId, Port)> {
        let apart = self.configs.apart(&other.configs).next().is_some();
        if !apart && self.len() == other.len() {
            return Vec::new();
        }
        let seen = |table: &QuantTable, id: ConfigId| {
            let config = table.config(id)?;
            let at = (config.node, config.port, config.scheme);
            Some(((at, table.state(id)?, table.grid(id)), config.codes))
        };
        let differ = |ids: [Option<ConfigId>; 2]| {
            let one = ids[0].and_then(|id| seen(self, id));
            match (one, ids[1].and_then(|id| seen(other, id))) {
                (Some((one, Some(a))), Some((another, Some(b)))) => {
                    one != another || a.origin != b.origin || !same(&a.data, &b.data)
                }
                (one, another) => one != another,
            }
        };
        let ids = (0..self.bound().max(other.bound())).map(ConfigId::new);
        let different = ids.filter(|&id| differ([Some(id); 2]));
        let places = different.flat_map(|id| [self.config(id), other.config(id)]);
        // A config that was removed and added again has another id. This alone is not a difference.
        let mut looked_at = BTreeSet::new();
        let places = places.flatten().map(|config| (config.node, config.port));
        let places = places.filter(|&place| looked_at.insert(place));
        let at = |(node, port)| [self, other].map(|table| table.id(node, port));
        places.filter(|&place| differ(at(place))).collect()
    }

    /// Changes the state, grid or set of a config. The only other function that changes configs is
    /// [`QuantTable::withdraw`], which removes them.
    ///
    /// # Errors
    /// The transition is not allowed. In that case nothing is changed.
    pub fn transition(&mut self, id: ConfigId, request: Move) -> Result<(), IllegalMove> {
        let to = request.target();
        let place = self.config(id).map(|config| (config.node, config.port));
        let (node, port) = place.unwrap_or((NodeId::new(0), Port::Operand(0)));
        self.allowed(id, &request).map_err(|why| IllegalMove {
            node,
            port,
            from: self.state(id).unwrap_or(State::Initial),
            to,
            why,
        })?;
        let root = self.root(id);
        match request {
            Move::Activate(grid) => self.write(id, |config| {
                config.state = State::Activated;
                config.own = Some(grid);
            }),
            Move::DominatedBy(by) => {
                if self.root(by) != root {
                    // The whole set of `id` joins the other set, so the root of the set of `id` gives up its grid, too.
                    for moved in [root, id] {
                        self.write(moved, |config| {
                            config.state = State::Overlapped;
                            config.own = None;
                        });
                    }
                    self.sets.join(id, by);
                }
            }
            Move::MasteredBy(derivation) => {
                self.sets.part(id);
                self.write(id, |config| {
                    config.state = State::Passive;
                    config.own = None;
                    config.derivation = Some(derivation);
                });
            }
            Move::Give(data) => {
                let origin = CodesOrigin::Given;
                self.hold(id, ParameterCodes { data, origin });
            }
            Move::Bake(data) | Move::Choose(data) => {
                let origin = match request {
                    Move::Choose(_) => CodesOrigin::Optimised,
                    _ => CodesOrigin::Rounded,
                };
                if self.codes(id).is_none() {
                    self.hold(id, ParameterCodes { data, origin });
                }
                self.write(id, |config| {
                    config.state = match config.state {
                        State::Passive => State::PassiveBaked,
                        _ => State::Baked,
                    }
                });
            }
            Move::Unbake => {
                if self.codes(id).is_some_and(|codes| codes.origin != CodesOrigin::Given) {
                    self.release(id);
                }
                self.write(id, |config| {
                    config.state = match config.state {
                        State::PassiveBaked => State::Passive,
                        _ => State::Activated,
                    }
                });
            }
            Move::Dequantize => self.write(id, |config| {
                if config.state != State::Float {
                    config.stored = config.state;
                    config.state = State::Float;
                }
            }),
            Move::Restore => self.write(id, |config| config.state = config.stored),
            Move::Reset => self.write(id, |config| {
                config.state = State::Initial;
                config.own = None;
            }),
        }
        Ok(())
    }

    /// Checks whether a transition is allowed. If it is not, the error is the reason, or `None` if the state of the
    /// config is reason enough.
    fn allowed(&self, id: ConfigId, request: &Move) -> Result<(), Option<&'static str>> {
        let (state, root) = (self.state(id).ok_or(NO_CONFIG)?, self.root(id));
        let ensure = |holds: bool, why: Option<&'static str>| if holds { Ok(()) } else { Err(why) };
        let held = |id: ConfigId| self.config(id).is_some_and(|config| config.held > 0);
        let pinned = |id: ConfigId| {
            let own = self.config(id).and_then(|config| config.own.as_ref());
            own.is_some_and(|grid| grid.origin == Origin::Given)
        };
        match request {
            Move::Activate(grid) => {
                ensure(matches!(state, State::Initial | State::Activated) && root == id, None)?;
                ensure(!pinned(id) || grid.origin == Origin::Given, PINNED)?;
                ensure(!held(id), HELD)
            }
            Move::DominatedBy(by) => {
                let dominator = self.config(*by).ok_or(NO_MASTER)?;
                ensure(*by != id, Some("it would dominate itself"))?;
                if self.root(*by) == root {
                    return Ok(());
                }
                // The root of the set joins the other set, too, so its state must allow domination as well.
                let free = |s: Option<State>| matches!(s, Some(State::Initial | State::Activated | State::Overlapped));
                ensure(free(Some(state)) && free(self.state(root)), None)?;
                let equal = self.config(id).map(|config| config.scheme) == Some(dominator.scheme);
                ensure(equal, Some("its dominator has another type, policy, range or rounding"))?;
                let kept = !pinned(root) || self.read(*by, &mut 0).map(|grid| grid.params) == self.params(root);
                ensure(kept, PINNED)?;
                ensure(!held(root), HELD)?;
                ensure(!self.rests_on(*by, root), CYCLE)
            }
            Move::MasteredBy(derivation) => {
                ensure(
                    derivation.masters().all(|master| self.config(master).is_some()),
                    NO_MASTER,
                )?;
                let movable = matches!(
                    state,
                    State::Initial | State::Activated | State::Overlapped | State::Passive | State::PassiveInitial
                );
                ensure(movable, None)?;
                ensure(!pinned(id), PINNED)?;
                ensure(!held(id), HELD)?;
                ensure(!derivation.masters().any(|master| self.rests_on(master, id)), CYCLE)
            }
            Move::Give(_) => {
                ensure(matches!(state, State::Activated | State::Passive), None)?;
                ensure(self.codes(id).is_none(), GIVEN)?;
                ensure(state == State::Passive || pinned(id), Some("its grid was not given"))
            }
            Move::Choose(_) if self.codes(id).is_some() => Err(GIVEN),
            Move::Bake(data) | Move::Choose(data) => {
                ensure(matches!(state, State::Activated | State::Passive), None)?;
                ensure(self.codes(id).is_none_or(|codes| codes.data == *data), GIVEN)
            }
            Move::Unbake => ensure(matches!(state, State::Baked | State::PassiveBaked), None),
            Move::Dequantize => Ok(()),
            Move::Restore => ensure(state == State::Float, None),
            Move::Reset => {
                ensure(state == State::Activated && root == id, None)?;
                ensure(!pinned(id), PINNED)?;
                ensure(!held(id), HELD)
            }
        }
    }

    /// True if the config `id` has the grid of the config `on`, or if its grid is derived from the grid of `on`,
    /// directly or indirectly. A derivation from `on` counts even while `on` reads the grid of another config, because
    /// `on` may leave that config's set.
    fn rests_on(&self, id: ConfigId, on: ConfigId) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let root = self.root(id);
            if id == on || root == on {
                return true;
            }
            if seen.insert(root) {
                let derivation = self.config(root).and_then(|config| config.derivation);
                open.extend(derivation.into_iter().flat_map(Derivation::masters));
            }
        }
        false
    }

    /// Gives one config of a set another scheme than the rest. No transition allows this; it is only for tests of the
    /// verifier.
    #[cfg(test)]
    pub(crate) fn set_scheme(&mut self, id: ConfigId, scheme: Scheme) {
        self.write(id, |config| config.scheme = scheme);
    }

    /// Stores the codes of a config. From then on, the grids on which the codes depend cannot change.
    fn hold(&mut self, id: ConfigId, codes: ParameterCodes) {
        let mut seen: SmallVec<[ConfigId; 1]> = SmallVec::new();
        let mut open = vec![id];
        while let Some(next) = open.pop() {
            if seen.contains(&next) {
                continue;
            }
            seen.push(next);
            let root = self.root(next);
            let derivation = self.config(root).and_then(|config| config.derivation);
            open.extend(derivation.into_iter().flat_map(Derivation::masters));
            open.push(root);
        }
        for &on in &seen {
            self.write(on, |config| config.held += 1);
        }
        self.write(id, |config| (config.codes, config.holds) = (Some(codes), seen));
    }

    /// Removes the codes of a config.
    fn release(&mut self, id: ConfigId) {
        let holds = self.config(id).map(|config| config.holds.clone()).unwrap_or_default();
        for on in holds {
            self.write(on, |config| config.held -= 1);
        }
        self.write(id, |config| (config.codes, config.holds) = (None, SmallVec::new()));
    }

    fn write(&mut self, id: ConfigId, change: impl FnOnce(&mut QuantConfig)) {
        if let Some(config) = self.configs.get_mut(id.index()) {
            change(config);
        }
    }
}

const NO_CONFIG: Option<&str> = Some("there is no such config");
const PINNED: Option<&str> = Some("its grid was given");
const GIVEN: Option<&str> = Some("its codes were given");
const HELD: Option<&str> = Some("codes of a parameter rest on its grid");
const NO_MASTER: Option<&str> = Some("there is no such config to read");
const CYCLE: Option<&str> = Some("its grid would rest on itself");

#[cfg(test)]
mod tests;
