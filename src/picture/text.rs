//! Text in pages and pictures.

/// Appends `text` for use between tags and in quoted attributes. Characters that
/// mean markup become references, control characters U+FFFD. Marks that turn the
/// direction of the writing vanish: they could show a text in another order than
/// it has, and reach beyond it.
pub fn append(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            _ if turns(character) => {}
            _ if character.is_control() || is_no_character(character) => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
}

/// The text as [`append`] writes it.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    append(text, &mut out);
    out
}

/// Whether this character turns the direction of what follows.
fn turns(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether this is a code that no character has, now and for ever.
fn is_no_character(character: char) -> bool {
    let code = u32::from(character);
    code & 0xfffe == 0xfffe || (0xfdd0..=0xfdef).contains(&code)
}

/// Appends a name or path as a part of an address: all bytes but letters,
/// digits and a few marks as `%XX`.
pub fn append_address(name: &str, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
            continue;
        }
        out.push('%');
        for half in [byte >> 4, byte & 15] {
            let digit = DIGITS.get(usize::from(half)).copied().unwrap_or(b'0');
            out.push(char::from(digit));
        }
    }
}

/// Returns whether a link to this address may be followed from a page: only
/// what browsers fetch or write a letter to.
pub fn is_followed(address: &str) -> bool {
    let has = |scheme: &str| {
        let start = address.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    let is_plain = !address.chars().any(|c| c.is_control() || turns(c));
    is_plain && (has("https://") || has("http://") || has("mailto:"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_text_is_markup(text in "\\PC*|.*") {
            let escaped = escaped(&text);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
            prop_assert!(!escaped.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
            for rest in escaped.split('&').skip(1) {
                let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
                prop_assert!(known.iter().any(|known| rest.starts_with(known)));
            }
            let meant = escaped.replace("&lt;", "<").replace("&gt;", ">");
            let meant = meant.replace("&quot;", "\"").replace("&#39;", "'");
            let meant = meant.replace("&amp;", "&");
            let shown = |c: &char| !turns(*c);
            let replaced = |c: char| match c {
                '\n' | '\t' => c,
                _ if c.is_control() || is_no_character(c) => '\u{fffd}',
                _ => c,
            };
            let expected: String = text.chars().filter(shown).map(replaced).collect();
            prop_assert_eq!(meant, expected);
        }

        #[test]
        fn an_address_has_no_other_part(name in ".*") {
            let mut address = String::new();
            append_address(&name, &mut address);
            prop_assert!(address.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~/%".contains(&b)));
        }
    }

    #[test]
    fn only_addresses_of_pages_and_letters_are_followed() {
        for good in ["https://a.example/?x=<y>", "HTTP://a", "mailto:a@b"] {
            assert!(is_followed(good), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            " https://a",
            "data:text/html,x",
            "file:///etc/passwd",
            "//a",
            "https:a",
            "java\nscript:x",
            "https://a\u{202e}b",
            "é",
            "",
        ] {
            assert!(!is_followed(bad), "{bad}");
        }
    }
}
