//! Remarks as stored: `[%cba 61 …]`, the kind in hexadecimal and the payload
//! in base64url, with blanks that do not count.
//!
//! Beside a remark that is shown in words, `[%cba 09 ~1f2e3d4c …]` has a
//! digest of them: if the words are edited, the stored form is out of date.

use data_encoding::BASE64URL_NOPAD;

use crate::game::Annotation;

/// A remark as stored.
pub(super) fn raw(kind: u8, payload: &[u8]) -> String {
    with_head(&format!("[%cba {kind:02x}"), payload)
}

/// A remark as stored, which counts as long as `shown` stands beside it.
pub(super) fn raw_beside(kind: u8, payload: &[u8], shown: &[&str]) -> String {
    let digest = digest(shown);
    with_head(&format!("[%cba {kind:02x} ~{digest:08x}"), payload)
}

fn with_head(head: &str, payload: &[u8]) -> String {
    let mut command = head.to_owned();
    let digits = BASE64URL_NOPAD.encode(payload);
    for block in digits.as_bytes().chunks(64) {
        command.push(' ');
        command.push_str(std::str::from_utf8(block).unwrap_or_default());
    }
    command.push(']');
    command
}

/// A remark as stored, and the digest of what must stand beside it.
pub(super) fn parse_raw(joined: &str) -> Option<(Annotation, Option<u32>)> {
    let (kind, rest) = joined.split_at_checked(2)?;
    let (digest, digits) = match rest.strip_prefix('~') {
        Some(rest) => {
            let (digest, digits) = rest.split_at_checked(8)?;
            (Some(u32::from_str_radix(digest, 16).ok()?), digits)
        }
        None => (None, rest),
    };
    let remark = Annotation::Opaque {
        kind: u8::from_str_radix(kind, 16).ok()?,
        payload: BASE64URL_NOPAD.decode(digits.as_bytes()).ok()?,
    };
    Some((remark, digest))
}

/// FNV-1a of the commands, blanks left out.
pub(in crate::pgn) fn digest(commands: &[&str]) -> u32 {
    // A comment is read with one blank for any white space.
    let words = commands
        .iter()
        .flat_map(|command| command.split_whitespace());
    words.flat_map(str::bytes).fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
