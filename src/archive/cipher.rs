//! The cipher of `.cbz`: the whole archive, padded to a multiple of eight
//! bytes, in DES in ECB mode. It keeps nothing secret from an attacker.

use std::fmt;
use std::io;

use des::Des;
use des::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use encoding_rs::WINDOWS_1252;

use crate::storage::{ReadBuffer, Storage};

/// Bytes of a cipher block.
pub(super) const UNIT: u64 = 8;

type CipherKey = [u8; 8];

/// A password. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Vec<u8>);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

impl Password {
    /// Returns a password of these bytes; `None` if there are none.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Option<Password> {
        let bytes = bytes.into();
        (!bytes.is_empty()).then_some(Password(bytes))
    }

    /// Returns the DES keys that the password can mean, the likeliest first:
    /// from its bytes in the code page of Western Europe, and from its bytes as
    /// given.
    fn keys(&self) -> Vec<CipherKey> {
        let text = std::str::from_utf8(&self.0).ok();
        let in_page = text.map(|text| WINDOWS_1252.encode(text));
        let in_page = in_page.filter(|(_, _, has_failed)| !has_failed);
        let mut keys: Vec<CipherKey> = in_page.iter().map(|(bytes, ..)| key(bytes)).collect();
        keys.push(key(&self.0));
        keys.dedup();
        keys
    }

    pub(super) fn ciphers(&self) -> impl Iterator<Item = Cipher> {
        self.keys().into_iter().map(Cipher::new)
    }

    /// Returns the cipher for a new archive: that of the likeliest key.
    pub(super) fn cipher(&self) -> Cipher {
        let first = self.keys().first().copied();
        Cipher::new(first.unwrap_or_default())
    }
}

/// Derives a key: eight bytes stay, fewer are repeated, more are folded.
fn key(password: &[u8]) -> CipherKey {
    let mut key = CipherKey::default();
    if password.len() <= key.len() {
        let bytes = password.iter().cycle();
        key.iter_mut()
            .zip(bytes)
            .for_each(|(place, byte)| *place = *byte);
        return key;
    }
    for part in password.chunks(key.len()) {
        for (place, byte) in key.iter_mut().zip(part) {
            *place = (*place << 1) ^ byte;
        }
    }
    key
}

/// DES with one key.
#[derive(Clone)]
pub(super) struct Cipher(Des);

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cipher(…)")
    }
}

impl Cipher {
    fn new(key: CipherKey) -> Cipher {
        Cipher(Des::new(&Array::from(key)))
    }

    /// Deciphers all whole blocks of eight bytes, in place.
    pub(super) fn decipher(&self, bytes: &mut [u8]) {
        let (units, _) = bytes.as_chunks_mut::<8>();
        for unit in units {
            let mut block = Array::from(*unit);
            self.0.decrypt_block(&mut block);
            *unit = block.into();
        }
    }

    /// Enciphers all whole blocks of eight bytes, in place.
    pub(super) fn encipher(&self, bytes: &mut [u8]) {
        let (units, _) = bytes.as_chunks_mut::<8>();
        for unit in units {
            let mut block = Array::from(*unit);
            self.0.encrypt_block(&mut block);
            *unit = block.into();
        }
    }
}

/// The deciphered content of an enciphered file. Bytes behind its last whole
/// block of eight are ignored.
#[derive(Debug)]
pub(super) struct Deciphered<S> {
    file: S,
    cipher: Cipher,
}

impl<S: Storage> Deciphered<S> {
    pub(super) fn new(file: S, cipher: Cipher) -> Deciphered<S> {
        Deciphered { file, cipher }
    }
}

impl<S: Storage> Storage for Deciphered<S> {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.len()? / UNIT * UNIT)
    }

    fn read_up_to<'a>(
        &'a self,
        offset: u64,
        len: usize,
        buffer: &'a mut ReadBuffer,
    ) -> io::Result<&'a [u8]> {
        let mut bytes = Vec::new();
        self.fill(offset, len, &mut bytes)?;
        Ok(buffer.put(bytes))
    }

    fn fill(&self, offset: u64, len: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        let before = usize::try_from(offset % UNIT).unwrap_or(0);
        let whole = (before + len).next_multiple_of(8);
        self.file.fill(offset - before as u64, whole, bytes)?;
        bytes.truncate(bytes.len() / 8 * 8);
        self.cipher.decipher(bytes);
        bytes.drain(..before.min(bytes.len()));
        bytes.truncate(len);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFile;

    #[test]
    fn passwords_give_keys() {
        let of = |password: &str| Password::new(password).unwrap().keys();
        assert_eq!(of("password"), [*b"password"]);
        assert_eq!(of("pass"), [*b"passpass"]);
        let folded = [0xaa, 0x93, 0x33, 0xab, 0xa9, 0xb3, 0xbc, 0x24];
        assert_eq!(of("my long password"), [folded]);
        assert_eq!(
            of("ü"),
            [[0xfc; 8], *"üüüü".as_bytes().first_chunk().unwrap()]
        );
        assert_eq!(Password::new(""), None);
        assert_eq!(
            format!("{:?}", Password::new("secret")),
            "Some(Password(…))"
        );
    }

    #[test]
    fn the_cipher_is_des() {
        let key = 0x1334_5779_9bbc_dff1_u64.to_be_bytes();
        let mut bytes = 0x0123_4567_89ab_cdef_u64.to_be_bytes();
        Cipher::new(key).encipher(&mut bytes);
        assert_eq!(bytes, 0x85e8_1354_0f0a_b405_u64.to_be_bytes());
    }

    #[test]
    fn any_part_is_deciphered_by_itself() {
        let plain: Vec<u8> = (0..83).collect();
        let cipher = Password::new("x").unwrap().cipher();
        let mut bytes = plain.clone();
        cipher.encipher(&mut bytes);
        let file = Deciphered::new(MemoryFile::from(bytes), cipher);
        assert_eq!(file.len().unwrap(), 80);
        for from in 0..90_usize {
            for len in 0..30 {
                let expected = plain[..80].get(from..).unwrap_or_default();
                let expected = &expected[..len.min(expected.len())];
                let mut buffer = ReadBuffer::default();
                let read = file.read_up_to(from as u64, len, &mut buffer);
                assert_eq!(read.unwrap(), expected, "{from} {len}");
            }
        }
    }
}
