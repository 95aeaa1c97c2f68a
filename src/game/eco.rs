//! Opening codes of the Encyclopaedia of Chess Openings.

use std::fmt;

/// An ECO code `A00` to `E99`, with ChessBase's sub-code `/00` to `/99`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Eco {
    index: u16,
    sub_code: u8,
}

impl Eco {
    /// Number of codes from A00 to E99.
    pub const COUNT: u16 = 500;

    /// Returns the code with this index (A00 = 0, E99 = 499) and sub-code (0 to
    /// 99); `None` if either is out of range.
    pub fn new(index: u16, sub_code: u8) -> Option<Eco> {
        (index < Eco::COUNT && sub_code < 100).then_some(Eco { index, sub_code })
    }

    /// Parses a code from `A00` to `E99`, without a sub-code.
    pub fn from_code(code: &str) -> Option<Eco> {
        let [letter @ b'A'..=b'E', tens @ b'0'..=b'9', ones @ b'0'..=b'9'] = code.as_bytes() else {
            return None;
        };
        let digit = |byte: u8, zero: u8| u16::from(byte - zero);
        let index = digit(*letter, b'A') * 100 + digit(*tens, b'0') * 10 + digit(*ones, b'0');
        Eco::new(index, 0)
    }

    /// The index, A00 = 0 to E99 = 499.
    pub fn index(self) -> u16 {
        self.index
    }

    /// The sub-code, 0 to 99.
    pub fn sub_code(self) -> u8 {
        self.sub_code
    }

    /// The letter and two digits in ASCII, without the sub-code.
    pub fn bytes(self) -> [u8; 3] {
        // The index is below 500, so each part is one digit.
        let part = |number: u16| (number % 10) as u8;
        let [letter, ten, one] = [self.index / 100, self.index / 10, self.index].map(part);
        [b'A' + letter, b'0' + ten, b'0' + one]
    }
}

impl fmt::Display for Eco {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_run_from_a00_to_e99() {
        let code = |index| Eco::new(index, 0).map(|eco| eco.to_string());
        assert_eq!(code(0).as_deref(), Some("A00"));
        assert_eq!(code(289).as_deref(), Some("C89"));
        assert_eq!(code(499).as_deref(), Some("E99"));
        assert_eq!(code(500), None);
        assert_eq!(Eco::new(1, 100), None);
        assert_eq!(Eco::from_code("C89"), Eco::new(289, 0));
        assert_eq!(Eco::from_code("F00"), None);
        let eco = Eco::new(289, 7).unwrap();
        assert_eq!((eco.index(), eco.sub_code()), (289, 7));
    }
}
