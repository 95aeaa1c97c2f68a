//! Rating difference by score.

/// The rating difference for which this score (0 to 1) is expected, limited to
/// 800 as in FIDE's table.
pub fn rating_difference(score: f64) -> f64 {
    let odds = score / (1.0 - score);
    (400.0 * odds.log10()).clamp(-800.0, 800.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_0_for_half_the_points_and_800_for_all() {
        assert!(rating_difference(0.5).abs() < 1e-9);
        assert!((rating_difference(0.75) - 190.848_501_887_865).abs() < 1e-6);
        assert!((rating_difference(1.0) - 800.0).abs() < 1e-9);
        assert!((rating_difference(0.0) + 800.0).abs() < 1e-9);
    }
}
