//! Places the nodes of a graph without circles on ranks from top to bottom.
//!
//! The rank of a node is the length of the longest path to it. An edge over several ranks passes through a bend on each rank
//! between them. Nodes and bends of a rank are ordered by the mean place of their neighbours, and then moved towards this
//! mean as far as their order and distances allow. A long graph is cut into columns that stand beside each other, since a
//! screen is wider than high.

/// The distance between two ranks, from top to top.
pub(crate) const RANK: f64 = 62.0;

/// The width of a node with the free space beside it.
const NODE: f64 = 216.0;

/// The width of a bend.
const BEND: f64 = 22.0;

/// An edge over more ranks than this is drawn without bends, so that the work stays proportional to the graph.
const LONG: usize = 80;

/// How often the ranks are ordered and moved.
const SWEEPS: usize = 6;

/// Where nodes and edges are.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// The middle of the upper side of each node.
    pub(crate) nodes: Vec<[f64; 2]>,
    /// The places of the bends of each edge, from its producer to its reader.
    pub(crate) bends: Vec<Vec<[f64; 2]>>,
    /// The left end of each column.
    pub(crate) columns: Vec<f64>,
    pub(crate) size: [f64; 2],
}

/// Each move also goes a little to the middle, so that a long graph does not drift to a side.
const PULL: f64 = 0.99;

struct Item {
    rank: usize,
    width: f64,
    above: Vec<usize>,
    below: Vec<usize>,
    x: f64,
}

/// Lays out `count` nodes. Edges that do not lead from a node to a later one are left out of the order, but are drawn.
pub(crate) fn layout(count: usize, edges: &[(usize, usize)]) -> Layout {
    let ranks = ranks(count, edges);
    let item = |rank, width| Item {
        rank,
        width,
        above: Vec::new(),
        below: Vec::new(),
        x: 0.0,
    };
    let mut items: Vec<Item> = ranks.iter().map(|&rank| item(rank, NODE)).collect();
    let mut chains: Vec<Vec<usize>> = Vec::new();
    for &(from, to) in edges {
        let mut chain = Vec::new();
        let (Some(&first), Some(&last)) = (ranks.get(from), ranks.get(to)) else {
            chains.push(chain);
            continue;
        };
        if first < last {
            let mut before = from;
            let bends = if last - first <= LONG { first + 1..last } else { 0..0 };
            for rank in bends {
                items.push(item(rank, BEND));
                let bend = items.len() - 1;
                chain.push(bend);
                connect(&mut items, before, bend);
                before = bend;
            }
            if last - first <= LONG {
                connect(&mut items, before, to);
            }
        }
        chains.push(chain);
    }
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); ranks.iter().max().map_or(0, |most| most + 1)];
    for (index, item) in items.iter().enumerate() {
        if let Some(row) = rows.get_mut(item.rank) {
            row.push(index);
        }
    }
    for row in &rows {
        place(&mut items, row, |_, _| None);
    }
    for sweep in 0..SWEEPS {
        let order = sweep < SWEEPS / 2;
        for row in &mut rows {
            step(&mut items, row, order, |item| &item.above);
        }
        for row in rows.iter_mut().rev() {
            step(&mut items, row, order, |item| &item.below);
        }
    }
    finish(&items, count, &chains, rows.len())
}

fn connect(items: &mut [Item], from: usize, to: usize) {
    if let Some(item) = items.get_mut(from) {
        item.below.push(to);
    }
    if let Some(item) = items.get_mut(to) {
        item.above.push(from);
    }
}

/// The rank of each node. A node that reads nothing stands directly above its first reader.
fn ranks(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut sorted: Vec<(usize, usize)> = edges
        .iter()
        .copied()
        .filter(|(from, to)| from < to && *to < count)
        .collect();
    sorted.sort_by_key(|&(from, to)| (to, from));
    let mut ranks: Vec<usize> = vec![0; count];
    let mut reads = vec![false; count];
    for &(from, to) in &sorted {
        ranks[to] = ranks[to].max(ranks[from] + 1);
        reads[to] = true;
    }
    for node in (0..count).filter(|&node| !reads[node]) {
        let readers = sorted.iter().filter(|(from, _)| *from == node);
        if let Some(first) = readers.map(|&(_, to)| ranks[to]).min() {
            ranks[node] = first.saturating_sub(1);
        }
    }
    ranks
}

/// The mean place of the neighbours. Neighbours that are bends count more, so that long edges are straight.
fn mean(items: &[Item], neighbours: &[usize]) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for item in neighbours.iter().filter_map(|&other| items.get(other)) {
        let weight = if item.width == BEND { 2.0 } else { 1.0 };
        sum += weight * item.x;
        weights += weight;
    }
    (weights > 0.0).then(|| PULL * sum / weights)
}

fn step(items: &mut [Item], row: &mut [usize], order: bool, side: impl Fn(&Item) -> &Vec<usize>) {
    let wanted = |items: &[Item], index: usize| mean(items, side(items.get(index)?));
    if order {
        let key = |index: &usize| {
            wanted(items, *index)
                .or(items.get(*index).map(|item| item.x))
                .unwrap_or(0.0)
        };
        let mut keys: Vec<(f64, usize)> = row.iter().map(|index| (key(index), *index)).collect();
        keys.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (place, (_, index)) in row.iter_mut().zip(keys) {
            *place = index;
        }
    }
    place(items, row, wanted);
}

/// Moves the items of a row as near as possible to the wanted places, in the sense of least squares, without changing their
/// order. Neighbouring items that are too near to each other form a block, which moves as a whole.
fn place(items: &mut [Item], row: &[usize], wanted: impl Fn(&[Item], usize) -> Option<f64>) {
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    let (mut offset, mut offsets, mut before) = (0.0, Vec::with_capacity(row.len()), 0.0);
    for &index in row {
        let Some(item) = items.get(index) else { continue };
        offset += (before + item.width) / 2.0;
        before = item.width;
        offsets.push(offset);
        let mut block = (wanted(items, index).unwrap_or(item.x) - offset, 1);
        while let Some(&last) = blocks.last().filter(|last| last.0 > block.0) {
            blocks.pop();
            let all = last.1 + block.1;
            block = ((last.0 * last.1 as f64 + block.0 * block.1 as f64) / all as f64, all);
        }
        blocks.push(block);
    }
    let places = blocks
        .iter()
        .flat_map(|&(place, many)| std::iter::repeat_n(place, many));
    for ((&index, place), offset) in row.iter().zip(places).zip(offsets) {
        if let Some(item) = items.get_mut(index) {
            item.x = place + offset;
        }
    }
}

/// The free space between two columns, in which edges lead from the foot of one to the head of the next.
pub(crate) const GAP: f64 = 56.0;

/// The free space above and below a column.
const MARGIN: f64 = 30.0;

/// How much wider than high a drawing should be.
const ASPECT: f64 = 2.0;

/// The most columns.
const COLUMNS: usize = 16;

fn finish(items: &[Item], count: usize, chains: &[Vec<usize>], rows: usize) -> Layout {
    let starts = starts(items, rows);
    let column = |item: &Item| starts.partition_point(|start| *start <= item.rank).saturating_sub(1);
    let mut ends = vec![[f64::INFINITY, f64::NEG_INFINITY]; starts.len()];
    for item in items {
        if let Some([left, right]) = ends.get_mut(column(item)) {
            (*left, *right) = (
                left.min(item.x - item.width / 2.0),
                right.max(item.x + item.width / 2.0),
            );
        }
    }
    let mut columns = Vec::new();
    let mut width = 0.0;
    for [left, right] in ends.iter().filter(|[left, right]| left <= right) {
        columns.push(width);
        width += right - left + GAP;
    }
    let at = |item: &Item| {
        let own = column(item);
        let (left, start) = (
            ends.get(own).map_or(0.0, |ends| ends[0]),
            starts.get(own).copied().unwrap_or(0),
        );
        let x = columns.get(own).copied().unwrap_or(0.0) + item.x - left;
        [x, MARGIN + RANK * (item.rank - start) as f64]
    };
    let longest = starts
        .iter()
        .zip(starts.iter().skip(1).chain([&rows]))
        .map(|(start, end)| end - start)
        .max();
    Layout {
        nodes: items.iter().take(count).map(at).collect(),
        bends: (chains.iter())
            .map(|chain| chain.iter().filter_map(|&index| Some(at(items.get(index)?))).collect())
            .collect(),
        columns,
        size: [
            (width - GAP).max(0.0),
            2.0 * MARGIN + RANK * longest.unwrap_or(0) as f64,
        ],
    }
}

/// The first rank of each column. Columns have about the same height, and end where few edges lead on.
fn starts(items: &[Item], rows: usize) -> Vec<usize> {
    let left = items
        .iter()
        .map(|item| item.x - item.width / 2.0)
        .fold(f64::INFINITY, f64::min);
    let right = items
        .iter()
        .map(|item| item.x + item.width / 2.0)
        .fold(f64::NEG_INFINITY, f64::max);
    let (width, height) = ((right - left).max(NODE) + GAP, RANK * rows.max(1) as f64);
    let off = |columns: usize| {
        let columns = columns as f64;
        (columns * columns * width / height / ASPECT).ln().abs()
    };
    let many = (1..=COLUMNS.min(rows.max(1)))
        .min_by(|one, other| off(*one).total_cmp(&off(*other)))
        .unwrap_or(1);
    let mut crossing = vec![0usize; rows];
    for item in items {
        if let Some(crossing) = crossing.get_mut(item.rank) {
            *crossing += item.above.len();
        }
    }
    let each = rows / many;
    let mut starts = vec![0];
    for column in 1..many {
        let even = rows * column / many;
        let near = even.saturating_sub(each / 5)..=even + each / 5;
        let best = near.min_by_key(|rank| (crossing.get(*rank).copied().unwrap_or(usize::MAX), rank.abs_diff(even)));
        starts.extend(best.filter(|best| starts.last().is_none_or(|last| last < best)));
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_a_straight_line() {
        let placed = layout(4, &[(0, 1), (1, 2), (2, 3)]);
        assert!(
            placed
                .nodes
                .windows(2)
                .all(|two| two[0][0] == two[1][0] && two[0][1] < two[1][1])
        );
    }

    #[test]
    fn nodes_of_a_rank_do_not_overlap() {
        let edges: Vec<(usize, usize)> = (1..6).flat_map(|node| [(0, node), (node, 6)]).chain([(0, 6)]).collect();
        let placed = layout(7, &edges);
        let mut across: Vec<f64> = placed.nodes[1..6].iter().map(|node| node[0]).collect();
        across.sort_by(f64::total_cmp);
        assert!(
            across.windows(2).all(|two| two[1] - two[0] >= NODE - 1e-6),
            "{across:?}"
        );
        assert_eq!(placed.bends[10].len(), 1);
    }

    #[test]
    fn a_circle_and_a_node_that_is_not_there_do_no_harm() {
        let placed = layout(2, &[(0, 1), (1, 0), (0, 7)]);
        assert_eq!(placed.nodes.len(), 2);
    }

    #[test]
    fn a_long_graph_stands_in_columns_beside_each_other() {
        let edges: Vec<(usize, usize)> = (1..100).map(|node| (node - 1, node)).collect();
        let placed = layout(100, &edges);
        assert!(placed.columns.len() > 2, "{:?}", placed.columns);
        let [width, height] = placed.size;
        assert!((1.0..4.0).contains(&(width / height)), "{width} {height}");
        assert!(
            placed
                .nodes
                .iter()
                .all(|[x, y]| (0.0..width).contains(x) && (0.0..height).contains(y))
        );
    }
}
