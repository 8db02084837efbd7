//! Drawings as SVG, for charts and flame graphs.

use std::fmt::Write;

/// A drawing. Lengths are pixels, from its upper left corner.
pub struct Svg(String);

impl Svg {
    /// An empty, white drawing.
    pub fn new(width: f64, height: f64) -> Svg {
        Svg(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        ))
    }

    /// Draws words in a line that begins (`start`) or ends (`end`) at `x`, or has its middle there (`middle`).
    pub fn text(&mut self, x: f64, y: f64, size: u32, anchor: &str, words: &str) {
        let _ = writeln!(
            self.0,
            r##"<text x="{x:.1}" y="{y:.1}" font-size="{size}" text-anchor="{anchor}" fill="#222222">{}</text>"##,
            escaped(words)
        );
    }

    /// Draws a filled box.
    pub fn bar(&mut self, x: f64, y: f64, width: f64, height: f64, colour: &str) {
        let _ = writeln!(
            self.0,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"/>"#
        );
    }

    /// Draws a line through points.
    pub fn line(&mut self, points: &[(f64, f64)], colour: &str, width: f64) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            self.0,
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="{width}"/>"#,
            points.join(" ")
        );
    }

    /// Appends elements of SVG as they are.
    pub fn raw(&mut self, elements: &str) {
        self.0 += elements;
    }

    /// The text of the drawing.
    pub fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}

/// Escapes text for XML, for attributes too. Leaves out characters that XML can't have.
pub fn escaped(text: &str) -> String {
    let plain = text.chars().filter(|c| !c.is_control() || c.is_ascii_whitespace());
    let plain: String = plain.collect();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
