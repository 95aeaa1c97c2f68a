//! How a game ended.

/// The result of a game, with the forfeits that ChessBase tells apart.
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
    /// White did not appear: 0-1
    BlackWonByForfeit,
    /// Drawn without play: 1/2-1/2
    DrawByForfeit,
    /// Black did not appear: 1-0
    WhiteWonByForfeit,
    /// Both lost. PGN has no word for it: `*`
    BothLost,
}

impl GameResult {
    /// The PGN Result tag and game terminator: one of the four that every
    /// program reads.
    pub fn pgn(self) -> &'static str {
        match self {
            GameResult::BlackWon | GameResult::BlackWonByForfeit => "0-1",
            GameResult::Draw | GameResult::DrawByForfeit => "1/2-1/2",
            GameResult::WhiteWon | GameResult::WhiteWonByForfeit => "1-0",
            GameResult::Line | GameResult::BothLost => "*",
        }
    }

    /// What the four PGN results cannot say: `-:+`, `=:=`, `+:-` for a
    /// forfeit, `0-0` where both lost.
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
