//! The subject of a certificate: the user and the groups that it stands for.

/// The parts of a distinguished name that Kubernetes reads.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Subject {
    /// The last common name, which is the user.
    pub(super) common_name: Option<String>,
    /// The organisations, which are the groups.
    pub(super) organizations: Vec<String>,
}

impl Subject {
    /// Reads the content of a `Name` (RFC 5280): sets of pairs of type and value. `None` if it is
    /// not one, or if a value is in an encoding that no certificate of a cluster has.
    pub(super) fn parse(mut name: &[u8]) -> Option<Self> {
        let mut subject = Self::default();
        while !name.is_empty() {
            let mut set = take(&mut name, SET)?;
            while !set.is_empty() {
                let mut pair = take(&mut set, SEQUENCE)?;
                let kind = take(&mut pair, OBJECT_IDENTIFIER)?;
                match kind {
                    COMMON_NAME => subject.common_name = Some(text(pair)?),
                    ORGANIZATION => subject.organizations.push(text(pair)?),
                    _ => {}
                }
            }
        }
        Some(subject)
    }
}

/// Takes the content of the next element, which must be of this kind.
fn take<'a>(from: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (found, content) = element(from)?;
    (found == tag).then_some(content)
}

/// Takes the next element of DER: a tag of one byte, a length, the content.
fn element<'a>(from: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (tag, rest) = from.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match *first {
        short @ 0..=0x7f => (usize::from(short), rest),
        // A name longer than 65,535 bytes is nobody's.
        long @ (0x81 | 0x82) => {
            let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *from = rest;
    Some((*tag, content))
}

fn text(mut from: &[u8]) -> Option<String> {
    let (tag, content) = element(&mut from)?;
    if !from.is_empty() {
        return None;
    }
    match tag {
        UTF8_STRING | PRINTABLE_STRING | IA5_STRING => String::from_utf8(content.to_vec()).ok(),
        _ => None,
    }
}

const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
const IA5_STRING: u8 = 0x16;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;

const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const ORGANIZATION: &[u8] = &[0x55, 4, 10];

#[cfg(test)]
mod tests {
    use super::*;

    /// O=ops, O=dev, C=DE, CN=ann, as OpenSSL writes it.
    const NAME: &[u8] =
        b"1\x0c0\x0a\x06\x03U\x04\x0a\x0c\x03ops1\x0c0\x0a\x06\x03U\x04\x0a\x13\x03dev\
        1\x0b0\x09\x06\x03U\x04\x06\x13\x02DE1\x0c0\x0a\x06\x03U\x04\x03\x0c\x03ann";

    #[test]
    fn the_user_and_the_groups_are_read() {
        let subject = Subject::parse(NAME).expect("it is a name");
        assert_eq!(subject.common_name.as_deref(), Some("ann"));
        assert_eq!(subject.organizations, ["ops", "dev"]);
        assert_eq!(Subject::parse(b""), Some(Subject::default()));
    }

    #[test]
    fn what_is_cut_or_not_a_name_is_nobodys() {
        for end in 1..NAME.len() {
            // Only where a set ends is the rest a name of its own.
            let is_whole = [14, 28, 41].contains(&end);
            assert_eq!(Subject::parse(&NAME[..end]).is_some(), is_whole, "{end} bytes");
        }
        for tag in 0..=255 {
            let mut changed = NAME.to_vec();
            changed[0] = tag;
            assert_eq!(Subject::parse(&changed).is_some(), tag == SET, "tag {tag}");
        }
        assert_eq!(Subject::parse(b"1\x84\xff\xff\xff\xff"), None);
    }
}
