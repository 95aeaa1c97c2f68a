//! All terms, for people.

/// What each term means, in lines of at most a hundred characters.
pub const TERM_HELP: &str = "\
Terms, all of which must fit:
  white: black: player: opponent:   names; opponent: of the player: named before
  event: site: annotator: source: team:
  round:3  round:1-5  round:3.2     round, and game within it
  result:1-0  0-1  draw  none
  eco:B90  B9*  B90-B99  none
  year:1990-1999  date:2010.05-2011 partly unknown dates match if they can
  elo:2600-                         ratings of both; white-elo: black-elo: elo-diff:
  moves:-20  number:100-200
  has:comments                      variations, symbols, arrows, clocks, evaluations, training, medals
  text:zugzwang                     words of a remark
  position:FEN                      the game reaches it; : for / and _ for blanks
  squares:Nd5,pd6,-e4               some position has these pieces there; - is an empty square
  material:KRPKR                    at some moment exactly this, either side; KRP*KR at least
  in:variations  in:deleted         widen what is looked at

  a|b is either, not- before a term turns it around. Text is a part of the field, without case and
  accents; * stands for anything; \"…\" is the whole field. Numbers are n, a-b, a-, -b.";
