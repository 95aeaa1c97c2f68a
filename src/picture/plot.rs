//! Plots: evaluations and time spent of a game, and bars and lines of numbers.

use std::fmt::Write as _;

use super::text;
use crate::game::{Annotation, Evaluation, Game, PlyId};

/// Width and height of a plot, in its own units.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 160.0;

/// Points of a plot, at most; those of a longer game are left out.
const MOST_POINTS: usize = 1500;

/// Bars that have their numbers above them, and room for so many.
const FEW_BARS: usize = 8;

/// A point of a plot: number of the ply, value from −1 to 1, and label.
struct Point {
    ply: usize,
    value: f64,
    words: String,
}

/// Appends the plots that the remarks of a game allow.
pub(super) fn append_plots(game: &Game, out: &mut String) {
    let plies = game.tree.main_line_len();
    let evaluations = evaluations(game);
    let times = times(game);
    if evaluations.len() < 2 && times.len() < 2 {
        return;
    }
    out.push_str("<div class=\"plots\">\n");
    if evaluations.len() >= 2 {
        append_game_plot("Evaluation", &evaluations, plies, out);
    }
    if times.len() >= 2 {
        append_game_plot("Time spent on moves", &times, plies, out);
    }
    out.push_str("</div>\n");
}

/// Evaluations of the main line: of its profile, or else of its plies.
fn evaluations(game: &Game) -> Vec<Point> {
    let profile = game
        .annotations
        .on(PlyId::START)
        .find_map(|remark| match remark {
            Annotation::Profile(points) => Some(points),
            _ => None,
        });
    let point = |ply: usize, evaluation: Evaluation| {
        let value = match (evaluation.kind, evaluation.value) {
            (0, value) => 2.0 / (1.0 + (-0.004 * f64::from(value)).exp()) - 1.0,
            (1, value) => f64::from(value.signum()),
            _ => return None,
        };
        let words = super::moves::evaluation_words(evaluation)?;
        Some(Point { ply, value, words })
    };
    if let Some(profile) = profile {
        let points = profile.iter().enumerate().take(MOST_POINTS);
        let points = points.filter_map(|(ply, at)| {
            let (value, kind, depth) = (at.value, at.kind.into(), at.depth.into());
            point(ply, Evaluation { value, kind, depth })
        });
        return points.collect();
    }
    let plies = (1..).zip(game.tree.main_line()).take(MOST_POINTS);
    let points = plies.filter_map(|(ply, id)| {
        game.annotations.on(id).find_map(|remark| match remark {
            Annotation::Evaluation(evaluation) => point(ply, *evaluation),
            _ => None,
        })
    });
    points.collect()
}

/// Time spent on the plies: White's up, Black's down, as a share of the longest.
fn times(game: &Game) -> Vec<Point> {
    let plies = (1_usize..).zip(game.tree.main_line()).take(MOST_POINTS);
    let times = plies.filter_map(|(ply, id)| {
        let time = game.annotations.on(id).find_map(|remark| match remark {
            Annotation::TimeSpent(time) => Some(*time),
            _ => None,
        })?;
        let (hours, minutes, seconds) = (time.hours, time.minutes, time.seconds);
        let sum = u32::from(hours) * 3600 + u32::from(minutes) * 60 + u32::from(seconds);
        Some((ply, sum, format!("{hours}:{minutes:02}:{seconds:02}")))
    });
    let times: Vec<_> = times.collect();
    let longest = times
        .iter()
        .map(|(_, sum, _)| *sum)
        .max()
        .unwrap_or(0)
        .max(1);
    let is_black = game.start.position.turn() == shakmaty::Color::Black;
    let points = times.into_iter().map(|(ply, sum, words)| {
        let share = f64::from(sum) / f64::from(longest);
        let is_of_white = (ply % 2 == 1) != is_black;
        Point {
            ply,
            value: if is_of_white { share } else { -share },
            words,
        }
    });
    points.collect()
}

/// Bars above and below a middle line, each a link to its ply.
fn append_game_plot(title: &str, points: &[Point], plies: usize, out: &mut String) {
    let last = points.iter().map(|point| point.ply).max().unwrap_or(0);
    let width = WIDTH / count(plies.max(last) + 1);
    let middle = HEIGHT / 2.0;
    let _ = write!(
        out,
        "<figure><figcaption>{title}</figcaption>\
         <svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"group\" aria-label=\"{title}\">\
         <path class=\"axis\" d=\"M0 {middle}H{WIDTH}\"/>"
    );
    for point in points {
        let height = (point.value.abs() * (middle - 4.0)).max(1.0);
        let (class, y) = if point.value < 0.0 {
            ("black", middle)
        } else {
            ("white", middle - height)
        };
        let (ply, x) = (point.ply, count(point.ply) * width);
        let _ = write!(
            out,
            "<a href=\"#{ply}\"><rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" \
             height=\"{height:.1}\"/><title>{ply}: {}</title></a>",
            (width * 0.9).max(0.5),
            point.words
        );
    }
    out.push_str("</svg></figure>\n");
}

/// Bars from the bottom: what each is called, and how large it is.
pub(super) fn append_bars(title: &str, bars: &[(String, u64)], out: &mut String) {
    let most = bars.iter().map(|(_, size)| *size).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    // A few bars are not to fill the page.
    let width = WIDTH / count(bars.len().max(FEW_BARS));
    // Names may be wider than their bars.
    let _ = write!(
        out,
        "<figure><figcaption>{title}</figcaption>\
         <svg class=\"plot\" viewBox=\"-28 -28 {} {}\" role=\"img\" aria-label=\"{title}\">",
        WIDTH + 56.0,
        HEIGHT + 58.0
    );
    let step = bars.len().div_ceil(7).max(1);
    for (index, (name, size)) in bars.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a height need not be exact")]
        let share = *size as f64 / most as f64;
        let (x, height) = (count(index) * width, share * (HEIGHT - 4.0));
        let name = text::escaped(name);
        let _ = write!(
            out,
            "<rect class=\"bar\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\">\
             <title>{name}: {size}</title></rect>",
            HEIGHT - height,
            (width * 0.85).max(0.5)
        );
        let middle = x + width * 0.42;
        if index % step == 0 {
            let bottom = HEIGHT + 23.0;
            let _ = write!(out, "<text x=\"{middle:.1}\" y=\"{bottom}\">{name}</text>");
        }
        if bars.len() <= FEW_BARS {
            let top = HEIGHT - height - 5.0;
            let _ = write!(out, "<text x=\"{middle:.1}\" y=\"{top:.1}\">{size}</text>");
        }
    }
    out.push_str("</svg></figure>\n");
}

/// A line through points, whose `x` rises: what it is called, its labels at the
/// ends, and the points.
pub(super) fn append_line(title: &str, ends: [&str; 2], points: &[(f64, f64)], out: &mut String) {
    let [(first, _), .., (last, _)] = points else {
        return;
    };
    let values = || points.iter().map(|(_, y)| *y);
    let (low, high) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::NEG_INFINITY, f64::max),
    );
    let (wide, tall) = ((last - first).max(1e-9), (high - low).max(1.0));
    let _ = write!(
        out,
        "<figure><figcaption>{title}</figcaption>\
         <svg class=\"plot\" viewBox=\"-62 -14 {} {}\" role=\"img\" aria-label=\"{title}\"><path class=\"line\" d=\"",
        WIDTH + 76.0,
        HEIGHT + 46.0
    );
    for (index, (x, y)) in points.iter().enumerate() {
        let x = (x - first) / wide * WIDTH;
        let y = HEIGHT - (y - low) / tall * HEIGHT;
        let _ = write!(out, "{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' });
    }
    out.push_str("\"/>");
    let bottom = HEIGHT + 26.0;
    let [from, to] = ends.map(text::escaped);
    let _ = writeln!(
        out,
        "<text x=\"-32\" y=\"8\">{high:.0}</text><text x=\"-32\" y=\"{HEIGHT}\">{low:.0}</text>\
         <text x=\"20\" y=\"{bottom}\">{from}</text><text x=\"{}\" y=\"{bottom}\">{to}</text></svg></figure>",
        WIDTH - 20.0
    );
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
