//! The hash that selects the page of a position: that of the classic UNIX dbm,
//! over the bytes of its signature.

/// Addends, indexed by the running sum of the nibbles.
const TABLE: [u32; 64] = [
    0x3100_d2bf,
    0x3118_e3de,
    0x34ab_1372,
    0x2807_a847,
    0x1633_f566,
    0x2143_b359,
    0x26d5_6488,
    0x3b9e_6f59,
    0x3775_5656,
    0x3089_ca7b,
    0x18e9_2d85,
    0x0cd0_e9d8,
    0x1a9e_3b54,
    0x3eaa_902f,
    0x0d9b_faae,
    0x2f32_b45b,
    0x31ed_6102,
    0x3d3c_8398,
    0x1466_60e3,
    0x0f8d_4b76,
    0x02c7_7a5f,
    0x146c_8799,
    0x1c47_f51f,
    0x249f_8f36,
    0x2477_2043,
    0x1fbc_1e4d,
    0x1e86_b3fa,
    0x37df_36a6,
    0x16ed_30e4,
    0x02c3_148e,
    0x216e_5929,
    0x0636_b34e,
    0x317f_9f56,
    0x15f0_9d70,
    0x1310_26fb,
    0x38c7_84b1,
    0x29ac_3305,
    0x2b48_5dc5,
    0x3c04_9ddc,
    0x35a9_fbcd,
    0x31d5_373b,
    0x2b24_6799,
    0x0a29_23d3,
    0x08a9_6e9d,
    0x3003_1a9f,
    0x08f5_25b5,
    0x3361_1c06,
    0x2409_db98,
    0x0ca4_feb2,
    0x1000_b71e,
    0x3056_6e32,
    0x3944_7d31,
    0x194e_3752,
    0x0823_3a95,
    0x0f38_fe36,
    0x29c7_cd57,
    0x0f7b_3a39,
    0x328e_8a16,
    0x1e7d_1388,
    0x0fba_78f5,
    0x274c_7e7c,
    0x1e8b_e65c,
    0x2fa0_b0bb,
    0x1eb6_c371,
];

/// Hashes a signature, including its first byte. All additions wrap around.
pub(super) fn hash(signature: &[u8]) -> u32 {
    let mut at = 0_u32;
    let mut sum = 0_u32;
    for &byte in signature {
        for nibble in [byte & 15, byte >> 4] {
            at = at.wrapping_add(61).wrapping_sub(4 * u32::from(nibble)) & 63;
            sum = sum.wrapping_add(TABLE.get(at as usize).copied().unwrap_or_default());
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;

    use super::*;

    #[test]
    fn signatures_hash_as_published() {
        for (signature, expected) in [
            ("56b60f7960f3a60f58b078e0c1e1a60f5960f3b60f7f", 0xeb7e_d3d7),
            ("56b60f7960f3a60f58b078e0c721a60f5960f3b60f7f", 0x8c97_8593),
        ] {
            let bytes = HEXLOWER.decode(signature.as_bytes()).unwrap();
            assert_eq!(hash(&bytes), expected);
        }
        assert_eq!(hash(&[]), 0);
    }
}
