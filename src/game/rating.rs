//! What a score is worth in rating points.

/// The difference of ratings with which a share of the points is expected,
/// at most 800 as in FIDE's table.
pub fn rating_difference(score: f64) -> f64 {
    let odds = score / (1.0 - score);
    (400.0 * odds.log10()).clamp(-800.0, 800.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_points_are_worth_no_difference_and_all_of_them_800() {
        assert!(rating_difference(0.5).abs() < 1e-9);
        assert!((rating_difference(0.75) - 190.848_501_887_865).abs() < 1e-6);
        assert!((rating_difference(1.0) - 800.0).abs() < 1e-9);
        assert!((rating_difference(0.0) + 800.0).abs() < 1e-9);
    }
}
