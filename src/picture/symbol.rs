//! Signs of annotators: what a NAG looks like, and what it means.

/// The sign of a NAG, and its meaning in words; `None` for 0 and for NAGs
/// without a sign.
pub(super) fn sign(nag: u8) -> Option<(&'static str, &'static str)> {
    Some(match nag {
        1 => ("!", "good move"),
        2 => ("?", "mistake"),
        3 => ("!!", "brilliant move"),
        4 => ("??", "blunder"),
        5 => ("!?", "interesting move"),
        6 => ("?!", "dubious move"),
        7 | 8 => ("□", "only move"),
        10 | 11 => ("=", "equal"),
        12 => ("=", "equal with chances for both"),
        13 => ("∞", "unclear"),
        14 => ("⩲", "White is slightly better"),
        15 => ("⩱", "Black is slightly better"),
        16 => ("±", "White is better"),
        17 => ("∓", "Black is better"),
        18 | 20 => ("+−", "White is winning"),
        19 | 21 => ("−+", "Black is winning"),
        22 | 23 => ("⨀", "zugzwang"),
        32 | 33 => ("⟳", "lead in development"),
        36 | 37 => ("↑", "initiative"),
        40 | 41 => ("→", "attack"),
        44 | 45 => ("=∞", "compensation"),
        132 | 133 => ("⇆", "counterplay"),
        136..=139 => ("⊕", "time trouble"),
        140 => ("∆", "with the idea"),
        141 => ("∇", "aimed against"),
        142 => ("⌓", "better is"),
        143 => ("≤", "worse is"),
        144 => ("==", "equivalent is"),
        145 => ("RR", "editorial comment"),
        146 => ("N", "novelty"),
        _ => return None,
    })
}
