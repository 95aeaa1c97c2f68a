//! Character references such as `&amp;`: resolving and escaping.

use std::borrow::Cow;

/// Names of the characters from U+00A0 on, in their order.
const LATIN: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr \
    deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest \
    Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc \
    Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute \
    THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave \
    iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc \
    uuml yacute thorn yuml";

/// Length of the longest reference that is resolved, without `&` and `;`.
const MAX_NAME: usize = 10;

/// Resolves the character references in `text`. Unknown ones stay as they are.
pub(super) fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split('&');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let name = part
            .bytes()
            .take(MAX_NAME + 1)
            .position(|byte| byte == b';')
            .and_then(|end| part.split_at_checked(end));
        if let Some((character, rest)) =
            name.and_then(|(name, rest)| Some((character(name)?, rest)))
        {
            out.push(character);
            out.push_str(rest.strip_prefix(';').unwrap_or(rest));
        } else {
            out.push('&');
            out.push_str(part);
        }
    }
    Cow::Owned(out)
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        return char::from_u32(code.ok()?).filter(|character| *character != '\0');
    }
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let codes = 0xa0..=0xffu8;
            let known = LATIN.split_ascii_whitespace().zip(codes);
            known
                .into_iter()
                .find(|(latin, _)| *latin == name)
                .map(|(_, code)| char::from(code))
        }
    }
}

/// Appends `text` escaped for use between tags and in quoted attributes.
pub(super) fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_and_others_stay() {
        for (written, meant) in [
            ("M&aring;rdell", "Mårdell"),
            ("&#229;&#xE5;&yuml;&nbsp;&amp;amp;", "åå\u{ff}\u{a0}&amp;"),
            (
                "a & b &x; &; &#0; &#xd800; &",
                "a & b &x; &; &#0; &#xd800; &",
            ),
            ("&aaaaaaaaaaaaaaaaé;", "&aaaaaaaaaaaaaaaaé;"),
            ("&é;", "&é;"),
        ] {
            assert_eq!(unescape(written), meant);
        }
    }

    #[test]
    fn escaping_round_trips() {
        let text = "<a href=\"x\">&amp;'</a>";
        let mut escaped = String::new();
        escape(text, &mut escaped);
        assert!(!escaped.contains(['<', '>', '"']));
        assert_eq!(unescape(&escaped), text);
    }
}
