//! Sets of configs that share one grid. They are stored as a union-find forest with path compression and union by size.

use crate::ids::ConfigId;
use crate::shared_vec::SharedVec;

/// A node of the union-find forest. If a config leaves its set, it gets a new member. Its old member stays, because
/// other members may be below it.
#[derive(Clone, Debug)]
struct Member {
    /// The index of the member above this one. The top member of a set has its own index here.
    above: u32,
    /// For the top member of a set: the number of members in the set.
    size: u32,
    /// For the top member of a set: the config whose grid all configs of the set read.
    root: ConfigId,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sets {
    /// For each config, the index of its member in `members`.
    of: SharedVec<u32>,
    members: SharedVec<Member>,
}

impl Sets {
    /// Adds a new set that contains only the config `id`. Configs are added in the order of their ids.
    pub(super) fn add(&mut self, id: ConfigId) {
        let member = self.alone(id);
        self.of.push(member);
    }

    fn alone(&mut self, root: ConfigId) -> u32 {
        // 32 bits are enough to number all members: each config adds one, and each transition at most one more.
        let above = self.members.len() as u32;
        self.members.push(Member { above, size: 1, root });
        above
    }

    fn top(&self, mut member: u32) -> u32 {
        while let Some(found) = self.members.get(member as usize).filter(|found| found.above != member) {
            member = found.above;
        }
        member
    }

    /// Finds the top member of a set, and attaches every member on the way to it directly to the top.
    fn compress(&mut self, member: u32) -> u32 {
        let top = self.top(member);
        let mut at = member;
        while at != top {
            let next = self.members.get(at as usize).map_or(top, |found| found.above);
            if next != top
                && let Some(found) = self.members.get_mut(at as usize)
            {
                found.above = top;
            }
            at = next;
        }
        top
    }

    /// Returns the root of the set that the config `id` is in: the config whose grid all configs of the set read.
    pub(super) fn root(&self, id: ConfigId) -> ConfigId {
        let member = self.of.get(id.index()).map(|&member| self.top(member));
        member
            .and_then(|top| self.members.get(top as usize))
            .map_or(id, |top| top.root)
    }

    /// Joins the sets of two configs. All configs of the joined set read the grid of the set of `to`.
    pub(super) fn join(&mut self, id: ConfigId, to: ConfigId) {
        let member = |sets: &Sets, id: ConfigId| sets.of.get(id.index()).copied();
        let (Some(one), Some(another)) = (member(self, id), member(self, to)) else {
            return;
        };
        let [one, another] = [self.compress(one), self.compress(another)];
        let found = |top: u32| self.members.get(top as usize).map(|top| (top.size, top.root));
        let (Some((own, _)), Some((other, root))) = (found(one), found(another)) else {
            return;
        };
        if one == another {
            return;
        }
        let (large, small) = if own > other { (one, another) } else { (another, one) };
        if let Some(top) = self.members.get_mut(small as usize) {
            top.above = large;
        }
        if let Some(top) = self.members.get_mut(large as usize) {
            (top.size, top.root) = (own + other, root);
        }
    }

    /// Removes a config from its set. Does nothing for the root of a set, because the other configs of the set read its
    /// grid.
    pub(super) fn part(&mut self, id: ConfigId) {
        if self.root(id) == id {
            return;
        }
        let alone = self.alone(id);
        if let Some(member) = self.of.get_mut(id.index()) {
            *member = alone;
        }
    }
}
