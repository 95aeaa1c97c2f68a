//! Countries, as ChessBase numbers them.

use std::sync::LazyLock;

use hashbrown::HashMap;

/// A country in ChessBase's numbering; 0 is "none".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nation(pub u8);

impl Nation {
    /// "Not given".
    pub const NONE: Nation = Nation(0);

    /// The three-letter code in PGN, such as `GER`; `None` for "none" and for
    /// numbers without a country.
    pub fn code(self) -> Option<&'static str> {
        let (code, _) = NATIONS.get(usize::from(self.0))?;
        Some(*code).filter(|code| !code.is_empty())
    }

    /// Returns the country of a three-letter code, current or one of the older
    /// ones that ChessBase's exports use (`CSR` for `TCH`). `CAM` is Cambodia.
    pub fn from_code(code: &str) -> Option<Nation> {
        static BY_CODE: LazyLock<HashMap<[u8; 3], Nation>> = LazyLock::new(|| {
            let numbered = || (0..=u8::MAX).map(Nation).zip(NATIONS);
            let current = numbered().map(|(nation, names)| (names.0, nation));
            let older = numbered().map(|(nation, names)| (names.1, nation));
            let mut nations = HashMap::new();
            // Of two countries with a code the first has it, and a current code before
            // an older one.
            for (code, nation) in current.chain(older) {
                if let Ok(code) = code.as_bytes().try_into() {
                    nations.entry(code).or_insert(nation);
                }
            }
            nations
        });
        let code: [u8; 3] = code.as_bytes().try_into().ok()?;
        BY_CODE
            .get(&code.map(|byte| byte.to_ascii_uppercase()))
            .copied()
    }
}

/// By number: the code that is written, and ChessBase's older code.
const NATIONS: [(&str, &str); 254] = [
    ("", ""),
    ("AFG", "AFG"),
    ("ALB", "ALB"),
    ("ALG", "ALG"),
    ("AND", "AND"),
    ("ANG", "ANG"),
    ("ANT", "ANT"),
    ("ARG", "ARG"),
    ("ARM", "ARM"),
    ("AUS", "AUS"),
    ("AUT", "AUT"),
    ("AZE", "AZE"),
    ("BAH", "BAH"),
    ("BRN", "BHN"),
    ("BAN", "BAN"),
    ("BAR", "BAR"),
    ("BLR", "BLR"),
    ("BEL", "BEL"),
    ("BIZ", "BLZ"),
    ("BER", "BER"),
    ("BOL", "BOL"),
    ("BIH", "BIH"),
    ("BOT", "BOT"),
    ("BRA", "BRA"),
    ("IVB", "IVB"),
    ("BRU", "BRU"),
    ("BUL", "BUL"),
    ("BUR", "BUR"),
    ("CAN", "CAN"),
    ("CHI", "CHI"),
    ("CHN", "CHN"),
    ("COL", "COL"),
    ("CRC", "CRI"),
    ("CRO", "CRO"),
    ("CUB", "CUB"),
    ("CYP", "CYP"),
    ("CZE", "CZE"),
    ("DEN", "DEN"),
    ("DJI", "DJI"),
    ("DOM", "DOM"),
    ("ECU", "ECU"),
    ("EGY", "EGY"),
    ("ENG", "ENG"),
    ("ESP", "ESP"),
    ("EST", "EST"),
    ("ETH", "ETH"),
    ("FRO", "FAI"),
    ("FIJ", "FIJ"),
    ("FIN", "FIN"),
    ("FRA", "FRA"),
    ("MKD", "FRM"),
    ("GAM", "GAM"),
    ("GEO", "GEO"),
    ("GER", "GER"),
    ("GHA", "GHA"),
    ("GRE", "GRE"),
    ("GUA", "GUA"),
    ("GCI", "GCI"),
    ("GUY", "GUY"),
    ("HAI", "HAI"),
    ("HON", "HON"),
    ("HKG", "HKG"),
    ("HUN", "HUN"),
    ("ISL", "ISL"),
    ("IND", "IND"),
    ("INA", "INA"),
    ("IRI", "IRI"),
    ("IRQ", "IRQ"),
    ("ISR", "ISR"),
    ("IRL", "IRL"),
    ("ITA", "ITA"),
    ("CIV", "IVO"),
    ("JAM", "JAM"),
    ("JPN", "JPN"),
    ("JCI", "JCI"),
    ("JOR", "JOR"),
    ("KAZ", "KAZ"),
    ("KEN", "KEN"),
    ("KOR", "KOR"),
    ("KGZ", "KGZ"),
    ("KUW", "KUW"),
    ("LAT", "LAT"),
    ("LIB", "LBN"),
    ("LBA", "LBY"),
    ("LIE", "LIE"),
    ("LTU", "LTU"),
    ("LUX", "LUX"),
    ("MAC", "MAC"),
    ("MAD", "MAD"),
    ("MAS", "MAS"),
    ("MLI", "MLI"),
    ("MLT", "MLT"),
    ("MTN", "MAU"),
    ("MRI", "MRI"),
    ("MEX", "MEX"),
    ("MDA", "MDA"),
    ("MON", "MNC"),
    ("MGL", "MGL"),
    ("MAR", "MAR"),
    ("MOZ", "MOZ"),
    ("MYA", "MYA"),
    ("NAM", "NAM"),
    ("NEP", "NEP"),
    ("NED", "NED"),
    ("AHO", "AHO"),
    ("NZL", "NZL"),
    ("NCA", "NCA"),
    ("NGR", "NGR"),
    ("NOR", "NOR"),
    ("PAK", "PAK"),
    ("PLE", "PLE"),
    ("PAN", "PAN"),
    ("PNG", "PNG"),
    ("PAR", "PAR"),
    ("PER", "PER"),
    ("PHI", "PHI"),
    ("POL", "POL"),
    ("POR", "POR"),
    ("PUR", "PUR"),
    ("QAT", "QAT"),
    ("ROU", "ROM"),
    ("RUS", "RUS"),
    ("ESA", "ESA"),
    ("SMR", "SMR"),
    ("SCO", "SCO"),
    ("SEN", "SEN"),
    ("SEY", "SEY"),
    ("SIN", "SIN"),
    ("SVK", "SVK"),
    ("SLO", "SLO"),
    ("RSA", "RSA"),
    ("SRI", "SRI"),
    ("SUD", "SUD"),
    ("SUR", "SUR"),
    ("SWE", "SWE"),
    ("SUI", "SUI"),
    ("SYR", "SYR"),
    ("TJK", "TJK"),
    ("TAN", "TAN"),
    ("THA", "THA"),
    ("TTO", "TRI"),
    ("TUN", "TUN"),
    ("TUR", "TUR"),
    ("TKM", "TKM"),
    ("UGA", "UGA"),
    ("UKR", "UKR"),
    ("UAE", "UAE"),
    ("USA", "USA"),
    ("URU", "URU"),
    ("URS", "URS"),
    ("UZB", "UZB"),
    ("VEN", "VEN"),
    ("VIE", "VIE"),
    ("ISV", "ISV"),
    ("WLS", "WLS"),
    ("YEM", "YEM"),
    ("SCG", "YUG"),
    ("ZAM", "ZAM"),
    ("ZIM", "ZIM"),
    ("ZAI", "ZRE"),
    ("DDR", "DDR"),
    ("TCH", "CSR"),
    ("CMR", "CAM"),
    ("CHA", "CHD"),
    ("CPV", "KAP"),
    ("KIR", "KBA"),
    ("COM", "COM"),
    ("CGO", "CON"),
    ("PRK", "NKO"),
    ("LAO", "LAO"),
    ("LES", "LES"),
    ("MAW", "MWI"),
    ("MDV", "MDV"),
    ("MHL", "MSH"),
    ("OMA", "OMN"),
    ("NRU", "NAU"),
    ("MIC", "MIC"),
    ("NIG", "NIG"),
    ("KSA", "SAU"),
    ("TOG", "TOG"),
    ("TGA", "TON"),
    ("VAN", "VAN"),
    ("VAT", "VAT"),
    ("TUV", "TUV"),
    ("SWZ", "SWA"),
    ("SLE", "SIE"),
    ("LCA", "SLU"),
    ("PAP", "PAP"),
    ("SVI", "SVI"),
    ("SAM", "SAM"),
    ("SKI", "SKI"),
    ("SOL", "SAL"),
    ("GE2", "GE2"),
    ("ZAR", "ZAR"),
    ("RWA", "RWA"),
    ("LBR", "LBR"),
    ("NET", "NET"),
    ("TPE", "TWN"),
    ("ASA", "ASU"),
    ("AGG", "AGG"),
    ("ARU", "ARN"),
    ("BEN", "BNN"),
    ("BHU", "BTN"),
    ("BDI", "BRI"),
    ("CAM", "CMB"),
    ("CAY", "CAY"),
    ("CAF", "CAR"),
    ("CIB", "CIB"),
    ("CIA", "CIA"),
    ("COA", "COA"),
    ("COK", "CIN"),
    ("GEQ", "ELG"),
    ("ERI", "ERI"),
    ("FGB", "FGB"),
    ("FRG", "FRG"),
    ("FRP", "FRP"),
    ("GAB", "GAB"),
    ("GGB", "GGB"),
    ("GRN", "GRA"),
    ("GRL", "GRL"),
    ("FGA", "FGA"),
    ("GUM", "GMA"),
    ("GUI", "GUI"),
    ("GBS", "GUB"),
    ("IOM", "IOM"),
    ("JMY", "JMY"),
    ("MFR", "MFR"),
    ("MYF", "MYF"),
    ("MSG", "MSG"),
    ("NCF", "NCF"),
    ("NNN", "NNN"),
    ("NNA", "NNA"),
    ("NMI", "NMI"),
    ("OTM", "OTM"),
    ("PLW", "PAL"),
    ("PIG", "PIG"),
    ("RUF", "RUF"),
    ("STP", "SAO"),
    ("SOM", "SOM"),
    ("SVN", "SVN"),
    ("HGB", "HGB"),
    ("PGB", "PGB"),
    ("TKI", "TKI"),
    ("TCI", "TCI"),
    ("WFR", "WFR"),
    ("NIR", "NIR"),
    ("ISS", "ISS"),
    ("GBR", "GBR"),
    ("SAA", "SAA"),
    ("MNE", "MNT"),
    ("SRB", "SER"),
    ("CAT", "CAT"),
    ("BAS", "BAS"),
    ("KOS", "KOS"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_numbers_agree() {
        for (number, code) in [(53, "GER"), (42, "ENG"), (147, "USA"), (249, "MNE")] {
            assert_eq!(Nation(number).code(), Some(code));
            assert_eq!(Nation::from_code(code), Some(Nation(number)));
        }
        assert_eq!(Nation::NONE.code(), None);
        assert_eq!(Nation(255).code(), None);
        assert_eq!(Nation::from_code(""), None);
        assert_eq!(Nation::from_code("CSR"), Some(Nation(161)));
        assert_eq!(Nation::from_code("CAM"), Some(Nation(204)));
    }

    #[test]
    fn every_code_leads_back_to_its_number() {
        for number in 0..=u8::MAX {
            if let Some(code) = Nation(number).code() {
                assert_eq!(Nation::from_code(code), Some(Nation(number)), "{code}");
            }
        }
    }
}
