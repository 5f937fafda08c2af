//! Numbers and texts as bytes.

/// Writes a number in as few bytes as it needs, seven bits each.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes a text with its length.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Bytes that are read from the front. Whatever is not there is `None`.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// As many bytes as the number before them says.
    pub(crate) fn sized(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.sized()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_as_they_were_written_and_small_ones_are_short() {
        let edges = [0, 1, 127, 128, 300, 16_383, 16_384, u64::MAX / 2, u64::MAX - 1, u64::MAX];
        for number in edges {
            let mut out = Vec::new();
            put_number(&mut out, number);
            assert_eq!(Bytes(&out).number(), Some(number));
            assert_eq!(Bytes(&out[..out.len() - 1]).number(), None, "{number} cut short");
        }
        let mut out = Vec::new();
        put_number(&mut out, 127);
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn bytes_that_are_no_number_or_text_are_refused() {
        assert_eq!(Bytes(&[0xff; 11]).number(), None);
        assert_eq!(Bytes(&[5, b'a']).text(), None);
        assert_eq!(Bytes(&[1, 0xff]).text(), None);
    }
}
