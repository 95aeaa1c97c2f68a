//! The result of a game.

/// The result of a game, including the forfeits that ChessBase distinguishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GameResult {
    /// 0-1
    BlackWon,
    /// 1/2-1/2
    Draw,
    /// 1-0
    WhiteWon,
    /// Unfinished, or an analysis line: `*`
    #[default]
    Line,
    /// Won by Black because White did not appear: 0-1
    BlackWonByForfeit,
    /// Drawn without play: 1/2-1/2
    DrawByForfeit,
    /// Won by White because Black did not appear: 1-0
    WhiteWonByForfeit,
    /// Lost by both. PGN has no such result and writes `*`
    BothLost,
}

impl GameResult {
    /// The PGN result, for the Result tag and as game terminator: one of the
    /// four that every program reads.
    pub fn pgn(self) -> &'static str {
        match self {
            GameResult::BlackWon | GameResult::BlackWonByForfeit => "0-1",
            GameResult::Draw | GameResult::DrawByForfeit => "1/2-1/2",
            GameResult::WhiteWon | GameResult::WhiteWonByForfeit => "1-0",
            GameResult::Line | GameResult::BothLost => "*",
        }
    }

    /// The result in a form that PGN's four cannot express: `-:+`, `=:=`, `+:-`
    /// for a forfeit, `0-0` if both lost; `None` for the others.
    pub fn beyond_pgn(self) -> Option<&'static str> {
        match self {
            GameResult::BlackWonByForfeit => Some("-:+"),
            GameResult::DrawByForfeit => Some("=:="),
            GameResult::WhiteWonByForfeit => Some("+:-"),
            GameResult::BothLost => Some("0-0"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_beyond_pgn_have_a_form_of_their_own() {
        let forms = [
            (GameResult::BlackWonByForfeit, "0-1", Some("-:+")),
            (GameResult::DrawByForfeit, "1/2-1/2", Some("=:=")),
            (GameResult::WhiteWonByForfeit, "1-0", Some("+:-")),
            (GameResult::BothLost, "*", Some("0-0")),
            (GameResult::WhiteWon, "1-0", None),
            (GameResult::Line, "*", None),
        ];
        for (result, pgn, beyond) in forms {
            assert_eq!(
                (result.pgn(), result.beyond_pgn()),
                (pgn, beyond),
                "{result:?}"
            );
        }
    }
}
