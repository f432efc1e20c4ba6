//! A graph as a drawing in a file of its own.

use crate::{
    fold::{self, Folding},
    plot, words,
};

/// A graph with more nodes than this is folded.
const MOST: usize = 60;

/// A node of a graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// The name of the node in the source model.
    pub name: String,
    /// Its operator.
    pub op: String,
    /// True if it runs on the host.
    pub on_host: bool,
    /// The positions of the nodes whose results it reads.
    pub reads: Vec<usize>,
}

const STYLE: &str = "svg{background:#fff}.edges{fill:none;stroke:#8492a3;stroke-width:1.4}\
.box{rx:5px;fill:#d3e4f7;stroke:#8492a3}.ph .box{fill:#f9cfa3}text{font:11px sans-serif;fill:#17202b}\
.op{font-weight:700;font-size:12px}";

/// Draws a graph as SVG. If it has many nodes, those whose names begin alike share a box; if the names do not tell parts,
/// neighbours do. So the drawing always has a size that can be looked at.
pub fn graph(nodes: &[Node]) -> String {
    let edges: Vec<(usize, usize)> = nodes
        .iter()
        .enumerate()
        .flat_map(|(to, node)| node.reads.iter().map(move |&from| (from, to)))
        .collect();
    let (boxes, edges) = match nodes.len() {
        0..=MOST => (nodes.iter().map(whole).collect(), edges),
        _ => {
            let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
            let paths: Vec<Vec<&str>> = names.iter().map(|name| fold::path(name)).collect();
            let folding = fold::by_name(&paths, &names, MOST);
            let folding = folding.unwrap_or_else(|| fold::by_place(&names, MOST));
            let between = folding.between(&edges);
            (folded(nodes, &folding), between)
        }
    };
    let plot::Drawing { svg, size } = plot::drawing(&boxes, &edges, "Graph of the model");
    let head = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0}\" height=\"{:.0}\" ",
        size[0], size[1]
    );
    let svg = svg.replacen("<svg ", &head, 1);
    svg.replacen('>', &format!("><style>{STYLE}</style>"), 1).replace(
        |character: char| character.is_control() && !matches!(character, '\n' | '\t'),
        "\u{fffd}",
    )
}

fn whole(node: &Node) -> plot::Box {
    drawn(
        node.op.clone(),
        node.name.clone(),
        format!("{}\n{}", node.op, node.name),
        node.on_host,
    )
}

fn folded(nodes: &[Node], folding: &Folding) -> Vec<plot::Box> {
    let groups = folding.names.iter().enumerate();
    groups
        .map(|(group, name)| {
            let members = || folding.members(group).filter_map(|index| nodes.get(index));
            let host = members().filter(|node| node.on_host).count();
            let count = words::counted(members().count(), "layer");
            drawn(
                count.clone(),
                name.clone(),
                format!("{name}\n{count}, {host} on the host"),
                host > 0,
            )
        })
        .collect()
}

fn drawn(op: String, name: String, title: String, on_host: bool) -> plot::Box {
    plot::Box {
        href: String::new(),
        op,
        name,
        title,
        words: String::new(),
        class: if on_host { "ph" } else { "pa" }.to_owned(),
        fused: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(count: usize, name: impl Fn(usize) -> String) -> Vec<Node> {
        (0..count)
            .map(|index| Node {
                name: name(index),
                op: "relu".to_owned(),
                on_host: index % 100 == 99,
                reads: index.checked_sub(1).into_iter().collect(),
            })
            .collect()
    }

    fn boxes(svg: &str) -> usize {
        svg.matches("class=\"box\"").count()
    }

    #[test]
    fn a_long_graph_is_folded_by_names_or_else_by_place() {
        assert_eq!(boxes(&graph(&chain(30, |index| format!("n{index}")))), 30);
        let parts = graph(&chain(3000, |index| format!("/layer{}/{index}/relu", index / 300)));
        assert_eq!(boxes(&parts), 10);
        assert!(parts.contains(">layer3<") && parts.contains("300 layers, 3 on the host"));
        let plain = graph(&chain(10_000, |index| format!("n{index}")));
        assert_eq!(boxes(&plain), 60);
        assert!(plain.len() < 40_000, "{}", plain.len());
    }

    #[test]
    fn a_drawing_is_a_document_of_its_own_in_which_names_are_no_markup() {
        let svg = graph(&chain(2, |index| format!("<a href=\"x\">\u{1b}{index}")));
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width="));
        assert!(!svg.contains("<a") && !svg.contains('\u{1b}'), "{svg}");
        assert_eq!(graph(&[]).matches("<svg").count(), 1);
    }
}
