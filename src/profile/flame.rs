//! A flame graph. Each box is a function, as wide as the share of samples in which it was on the stack, upon the
//! function that called it. A click on a box spreads the box over the whole width.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::svg::{Svg, escaped};

const WIDTH: f64 = 1400.0;
const MARGIN: f64 = 10.0;
const HEAD: f64 = 64.0;
const ROW: f64 = 17.0;
/// About the width of a letter in the boxes, in pixels.
const LETTER: f64 = 6.6;
/// The least width of a box, in pixels. Narrower boxes are left out.
const LEAST: f64 = 0.3;

/// Counts of samples, by their stacks.
#[derive(Debug, Default)]
pub struct Flame {
    root: Node,
}

#[derive(Debug, Default)]
struct Node {
    samples: u64,
    calls: BTreeMap<String, Node>,
}

impl Flame {
    /// Adds a sample of a stack, from its outermost function to the innermost.
    pub fn add<'a>(&mut self, stack: impl Iterator<Item = &'a String>) {
        let mut node = &mut self.root;
        node.samples += 1;
        for name in stack {
            if !node.calls.contains_key(name) {
                node.calls.insert(name.clone(), Node::default());
            }
            node = node.calls.get_mut(name).expect("it was put there");
            node.samples += 1;
        }
    }

    /// The number of samples.
    pub fn samples(&self) -> u64 {
        self.root.samples
    }

    /// Draws the graph as SVG. `what` is its title, and `about` a line below it.
    pub fn draw(&self, what: &str, about: &str) -> String {
        let all = Frame { node: &self.root, name: "all", x: 0.0, level: 0 };
        let boxes = all.with_calls(WIDTH - 2.0 * MARGIN, self.root.samples.max(1));
        let levels = boxes.iter().map(|b| b.level + 1).max().unwrap_or(0);
        let height = HEAD + f64::from(levels) * ROW + MARGIN;
        let mut svg = Svg::new(WIDTH, height);
        let line = what.split_whitespace().collect::<Vec<_>>().join(" ");
        svg.text(MARGIN, 24.0, 15, "start", &shortened(&line, 170));
        svg.text(MARGIN, 46.0, 12, "start", about);
        if self.root.samples == 0 {
            svg.text(MARGIN, HEAD + ROW, 12, "start", "The run was too short for a sample.");
            return svg.finish();
        }
        svg.raw("<g font-family=\"monospace\" font-size=\"11\">\n");
        let mut elements = String::new();
        for b in &boxes {
            b.draw(&mut elements, height, self.root.samples);
        }
        svg.raw(&elements);
        svg.raw("</g>\n");
        svg.raw(
            &SCRIPT
                .replace("MARGIN", &MARGIN.to_string())
                .replace("WIDTH", &(WIDTH - 2.0 * MARGIN).to_string()),
        );
        svg.finish()
    }
}

/// A function at its place in the drawing.
struct Frame<'a> {
    node: &'a Node,
    name: &'a str,
    /// The distance from the left, in samples.
    x: f64,
    level: u32,
}

impl<'a> Frame<'a> {
    /// This box and those above it that are wide enough. The stack may be deeper than that of this program, so this
    /// does not recurse.
    fn with_calls(self, width: f64, all: u64) -> Vec<Frame<'a>> {
        let (mut boxes, mut next) = (vec![self], 0);
        while next < boxes.len() {
            let (mut x, level) = (boxes[next].x, boxes[next].level + 1);
            for (name, node) in &boxes[next].node.calls {
                if node.samples as f64 / all as f64 * width >= LEAST {
                    boxes.push(Frame { node, name, x, level });
                }
                x += node.samples as f64;
            }
            next += 1;
        }
        boxes
    }

    fn draw(&self, out: &mut String, height: f64, all: u64) {
        let scale = (WIDTH - 2.0 * MARGIN) / all as f64;
        let (x, width) = (self.x * scale, self.node.samples as f64 * scale);
        let y = height - MARGIN - f64::from(self.level + 1) * ROW;
        let share = 100.0 * self.node.samples as f64 / all as f64;
        let name = escaped(self.name);
        let letters = (width / LETTER) as usize;
        let label = if letters < 3 { String::new() } else { escaped(&shortened(self.name, letters)) };
        let _ = writeln!(
            out,
            "<g data-x=\"{x:.2}\" data-w=\"{width:.2}\" data-n=\"{name}\"><title>{name}: {} samples, {share:.1} %</title>\
             <rect x=\"{:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{:.1}\" fill=\"{}\"/>\
             <text x=\"{:.2}\" y=\"{:.1}\">{label}</text></g>",
            self.node.samples,
            MARGIN + x,
            ROW - 1.0,
            colour(self.name),
            MARGIN + x + 2.0,
            y + 12.0,
        );
    }
}

/// Spreads a clicked box and those below it over the whole width.
const SCRIPT: &str = r#"<script><![CDATA[
const boxes = [...document.querySelectorAll("g[data-x]")];
function spread(from, width) {
  for (const box of boxes) {
    const left = Math.max(0, (box.dataset.x - from) / width * WIDTH);
    const right = Math.min(WIDTH, (+box.dataset.x + +box.dataset.w - from) / width * WIDTH);
    const [, rect, text] = box.children;
    box.style.display = right - left < 0.3 ? "none" : "";
    rect.setAttribute("x", MARGIN + left);
    rect.setAttribute("width", Math.max(0, right - left));
    text.setAttribute("x", MARGIN + left + 2);
    const letters = Math.floor((right - left) / 6.6), name = box.dataset.n;
    text.textContent = letters < 3 ? "" : name.length <= letters ? name : name.slice(0, letters - 1) + "\u2026";
  }
}
for (const box of boxes) box.onclick = () => spread(+box.dataset.x, +box.dataset.w);
]]></script>
"#;

fn shortened(text: &str, letters: usize) -> String {
    match text.chars().count() <= letters {
        true => text.to_string(),
        false => text.chars().take(letters.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// A warm colour that depends on the name.
fn colour(name: &str) -> String {
    let hash =
        name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
    format!("hsl({}, {}%, {}%)", 10 + hash % 42, 70 + (hash >> 8) % 20, 62 + (hash >> 16) % 12)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(flame: &mut Flame, names: &[&str], samples: u32) {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        (0..samples).for_each(|_| flame.add(names.iter()));
    }

    #[test]
    fn boxes_stand_upon_their_callers_and_are_as_wide_as_their_share() {
        let mut flame = Flame::default();
        add(&mut flame, &["worker", "scan", "Vec<u8>::push"], 30);
        add(&mut flame, &["worker", "scan"], 10);
        add(&mut flame, &["worker", "sort"], 60);
        assert_eq!(flame.samples(), 100);
        let svg = flame.draw("SELECT 1 < 2\n FROM t", "about");
        assert!(svg.contains("SELECT 1 &lt; 2 FROM t"), "{svg}");
        let of = |name: &str| {
            let line = svg.lines().find(|line| line.contains(&format!("data-n=\"{name}\""))).expect(name);
            let number = |key: &str| -> f64 {
                let rest = line.split_once(key).expect(key).1;
                rest.split('"').nth(1).expect("quoted").parse().expect("a number")
            };
            (number("data-x="), number("data-w="), number(" y="))
        };
        let (worker, scan, push, sort) = (of("worker"), of("scan"), of("Vec&lt;u8&gt;::push"), of("sort"));
        assert_eq!(
            (worker.0, worker.1, scan.1, push.1, sort.0, sort.1),
            (0.0, 1380.0, 552.0, 414.0, 552.0, 828.0)
        );
        assert!(worker.2 > scan.2 && scan.2 > push.2 && scan.2 == sort.2);
        assert!(svg.contains("sort: 60 samples, 60.0 %"), "{svg}");
        assert_eq!(svg.matches("<g").count(), svg.matches("</g>").count());
    }

    #[test]
    fn what_is_too_narrow_is_left_out_and_no_sample_is_said() {
        let mut flame = Flame::default();
        add(&mut flame, &["wide"], 100_000);
        add(&mut flame, &["narrow", "inner"], 1);
        let svg = flame.draw("", "");
        assert!(svg.contains("data-n=\"wide\"") && !svg.contains("narrow"), "{svg}");
        assert!(Flame::default().draw("", "").contains("too short for a sample"));
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(shortened("überlang", 4), "übe…");
        assert_eq!(shortened("kurz", 4), "kurz");
    }
}
