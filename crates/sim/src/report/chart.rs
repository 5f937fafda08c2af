//! A chart: lines over time, as SVG with its labels as text of the page.
//!
//! The drawing is stretched to the width of the page; the labels are not, so they can be read on a
//! phone. Lines differ by dashes as well as by colour.

use std::fmt::Write as _;

use super::scale::{self, Unit};
use super::words::{escape, span};

/// Lines over time.
pub(super) struct Chart {
    pub(super) title: &'static str,
    /// What is shown, in a sentence.
    pub(super) note: String,
    /// When each stretch of time begins.
    pub(super) starts: Vec<f64>,
    /// How long each is.
    pub(super) width: f64,
    pub(super) lines: Vec<Line>,
    pub(super) unit: Unit,
}

/// One line: a value for each stretch of time, where there is one.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) values: Vec<Option<f64>>,
    pub(super) shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Line,
    /// Filled down to zero.
    Area,
    /// Values that have nothing to do with those beside them.
    Spots,
}

impl Line {
    pub(super) fn new(name: &str, values: Vec<Option<f64>>) -> Self {
        Self { name: name.to_owned(), values, shape: Shape::Line }
    }

    fn highest(&self) -> Option<f64> {
        self.values.iter().copied().flatten().reduce(f64::max)
    }

    /// Whether it ever leaves zero.
    fn is_eventful(&self) -> bool {
        self.highest().is_some_and(|highest| highest > 0.0)
    }
}

impl Chart {
    /// Writes the figure. `number` tells it from the others of the page.
    pub(super) fn write(&self, page: &mut String, number: usize) {
        let _ = writeln!(
            page,
            "<section class=\"chart\" aria-labelledby=\"chart-{number}\">\n\
             <h2 id=\"chart-{number}\">{}</h2>\n<p class=\"note\">{}</p>",
            self.title, self.note
        );
        // Colours and dashes stay with their line, whether the others are there or not.
        let lines: Vec<(usize, &Line)> =
            self.lines.iter().enumerate().filter(|(_, line)| line.is_eventful()).collect();
        if lines.is_empty() || self.starts.is_empty() {
            page.push_str("<p class=\"nothing\">Nothing to show: it was zero throughout.</p>\n");
        } else {
            self.legend(page, &lines);
            self.plot(page, &lines);
            self.numbers(page, &lines);
        }
        page.push_str("</section>\n");
    }

    fn end(&self) -> f64 {
        self.starts.last().copied().unwrap_or(0.0) + self.width
    }

    fn legend(&self, page: &mut String, lines: &[(usize, &Line)]) {
        page.push_str("<ul class=\"legend\">\n");
        for (i, line) in lines {
            let name = escape(&line.name);
            let most = self.unit.say(line.highest().unwrap_or(0.0));
            let mark = match line.shape {
                Shape::Line => "<path d=\"M0 5H28\"/>",
                Shape::Spots => "<path class=\"spots\" d=\"M4 5H24\"/>",
                Shape::Area => "<path class=\"area\" d=\"M0 1H28V10H0Z\"/>",
            };
            let _ = writeln!(
                page,
                "<li><svg class=\"s{} mark\" viewBox=\"0 0 28 10\" aria-hidden=\"true\">{mark}</svg>\
                 {name} <span>at most {most}</span></li>",
                i % STYLES
            );
        }
        page.push_str("</ul>\n");
    }

    fn plot(&self, page: &mut String, lines: &[(usize, &Line)]) {
        let highest = lines.iter().filter_map(|(_, line)| line.highest()).fold(0.0, f64::max);
        let up = scale::upward(highest, self.unit);
        let top = up.last().copied().unwrap_or(1.0);
        let summary: Vec<String> = lines
            .iter()
            .map(|(_, line)| {
                let most = self.unit.say(line.highest().unwrap_or(0.0));
                format!("{} at most {most}", escape(&line.name))
            })
            .collect();
        let _ = write!(
            page,
            "<div class=\"plot\" tabindex=\"0\" role=\"group\" aria-label=\"{} over {}: {}\">\n\
             <div class=\"canvas\">\n\
             <svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\n",
            self.title,
            span(self.end()),
            summary.join(", ")
        );
        for tick in &up {
            let y = height(*tick, top);
            let _ = writeln!(page, "<path class=\"grid\" d=\"M0 {y}H1000\"/>");
        }
        for (i, line) in lines {
            match line.shape {
                Shape::Line => self.draw_steps(page, *i, line, top),
                Shape::Area => self.draw_area(page, *i, line, top),
                Shape::Spots => self.draw_spots(page, *i, line, top),
            }
        }
        page.push_str("</svg>\n");
        for tick in &up {
            let place = 100.0 - tick / top * 100.0;
            let say = self.unit.say(*tick);
            let _ = writeln!(page, "<span class=\"up\" style=\"top:{place:.2}%\">{say}</span>");
        }
        for (i, tick) in scale::along(self.end()).into_iter().enumerate() {
            let place = tick / self.end() * 100.0;
            let say = if tick == 0.0 { "0".to_owned() } else { span(tick) };
            // The last label would hang over the edge.
            let end = if place > 90.0 { " end" } else { "" };
            // There is not room for all of them on a phone.
            let odd = if i % 2 == 1 { " odd" } else { "" };
            let _ = writeln!(
                page,
                "<span class=\"along{end}{odd}\" style=\"left:{place:.2}%\">{say}</span>"
            );
        }
        self.hover(page, lines);
        page.push_str("</div>\n</div>\n");
    }

    /// A line as steps, one for each stretch of time; broken where there is no value.
    fn draw_steps(&self, page: &mut String, style: usize, line: &Line, top: f64) {
        let mut path = String::new();
        let mut last: Option<f64> = None;
        for (i, value) in line.values.iter().enumerate() {
            let Some(value) = *value else {
                last = None;
                continue;
            };
            let (y, from, to) = (height(value, top), self.x(i), self.x(i + 1));
            match last {
                // Equal steps become one.
                Some(last) if last == y => {}
                Some(_) => {
                    let _ = write!(path, "H{from:.1}V{y}");
                }
                None => {
                    let _ = write!(path, "M{from:.1} {y}");
                }
            }
            last = Some(y);
            if line.values.get(i + 1).copied().flatten().is_none() {
                let _ = write!(path, "H{to:.1}");
            }
        }
        let _ = writeln!(page, "<path class=\"s{}\" d=\"{path}\"/>", style % STYLES);
    }

    fn draw_area(&self, page: &mut String, style: usize, line: &Line, top: f64) {
        let mut path = String::new();
        for (i, value) in line.values.iter().enumerate() {
            if let Some(value) = value.filter(|value| *value > 0.0) {
                let (y, from, to) = (height(value, top), self.x(i), self.x(i + 1));
                let _ = write!(path, "M{from:.1} 100V{y}H{to:.1}V100Z");
            }
        }
        let _ = writeln!(page, "<path class=\"s{} area\" d=\"{path}\"/>", style % STYLES);
    }

    fn draw_spots(&self, page: &mut String, style: usize, line: &Line, top: f64) {
        let mut path = String::new();
        for (i, value) in line.values.iter().enumerate() {
            if let Some(value) = *value {
                let middle = (self.x(i) + self.x(i + 1)) / 2.0;
                let half = ((self.x(i + 1) - self.x(i)) / 2.0).max(NARROWEST / 2.0);
                let (y, from, to) = (height(value, top), middle - half, middle + half);
                let _ = write!(path, "M{from:.1} {y}H{to:.1}");
            }
        }
        let _ = writeln!(page, "<path class=\"s{} spots\" d=\"{path}\"/>", style % STYLES);
    }

    /// Where the stretch of a number begins, in thousandths of the width.
    fn x(&self, stretch: usize) -> f64 {
        stretch as f64 * self.width / self.end() * 1000.0
    }

    /// What the script shows below the pointer, in the words of this page.
    fn hover(&self, page: &mut String, lines: &[(usize, &Line)]) {
        let times: Vec<String> = self.starts.iter().map(|start| moment(*start)).collect();
        let names: Vec<&str> = lines.iter().map(|(_, line)| &*line.name).collect();
        let styles: Vec<usize> = lines.iter().map(|(i, _)| i % STYLES).collect();
        let values: Vec<Vec<String>> = lines
            .iter()
            .map(|(_, line)| {
                let say =
                    |value: &Option<f64>| value.map_or("–".to_owned(), |v| self.unit.say(v));
                // Written as text, not as markup.
                line.values.iter().map(say).map(|text| text.replace("&lt;", "<")).collect()
            })
            .collect();
        let share = self.width / self.end();
        let data = serde_json::json!({
            "times": times, "names": names, "styles": styles, "values": values, "share": share,
        });
        // So that nothing in a name ends the element.
        let data = data.to_string().replace('<', "\\u003c");
        let _ = writeln!(page, "<script type=\"application/json\">{data}</script>");
    }

    /// The same as a table: for those who do not see the lines, and to copy from.
    fn numbers(&self, page: &mut String, lines: &[(usize, &Line)]) {
        let stride = self.starts.len().div_ceil(MOST_ROWS).max(1);
        let _ = write!(
            page,
            "<details>\n<summary>The numbers</summary>\n<div class=\"wide\"><table>\n\
             <caption>{}{}</caption>\n<thead><tr><th scope=\"col\">From</th>",
            self.title,
            if stride > 1 { ", the highest of each stretch" } else { "" }
        );
        for (_, line) in lines {
            let _ = write!(page, "<th scope=\"col\">{}</th>", escape(&line.name));
        }
        page.push_str("</tr></thead>\n<tbody>\n");
        for first in (0..self.starts.len()).step_by(stride) {
            let _ = write!(page, "<tr><th scope=\"row\">{}</th>", moment(self.starts[first]));
            for (_, line) in lines {
                let until = (first + stride).min(line.values.len());
                let most = line.values[first..until].iter().copied().flatten().reduce(f64::max);
                let say = most.map_or("–".to_owned(), |most| self.unit.say(most));
                let _ = write!(page, "<td>{say}</td>");
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</tbody>\n</table></div>\n</details>\n");
    }
}

fn moment(seconds: f64) -> String {
    if seconds == 0.0 { "the start".to_owned() } else { span(seconds) }
}

/// From the top, in hundredths of the height, to a tenth of which lines are drawn.
fn height(value: f64, top: f64) -> f64 {
    ((100.0 - value / top * 100.0) * 10.0).round() / 10.0
}

/// Lines that can be told apart; more than these repeat.
const STYLES: usize = 6;
const MOST_ROWS: usize = 50;

/// What can still be seen, in thousandths of the width.
const NARROWEST: f64 = 5.0;
