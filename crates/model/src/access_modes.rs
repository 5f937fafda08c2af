//! How volumes may be used, and as what.

/// A set of access modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccessModes(u8);

impl AccessModes {
    /// Written by pods of one node.
    pub const READ_WRITE_ONCE: Self = Self(1);
    /// Read by pods of many nodes.
    pub const READ_ONLY_MANY: Self = Self(2);
    /// Written by pods of many nodes.
    pub const READ_WRITE_MANY: Self = Self(4);
    /// Written by one pod.
    pub const READ_WRITE_ONCE_POD: Self = Self(8);

    /// Whether all of `modes` are in this set.
    #[must_use]
    pub fn contains(self, modes: AccessModes) -> bool {
        self.0 & modes.0 == modes.0
    }

    pub(crate) fn from_api(modes: Option<&Vec<String>>) -> Self {
        modes.into_iter().flatten().fold(Self::default(), |set, mode| Self(set.0 | Self::bit(mode)))
    }

    fn bit(mode: &str) -> u8 {
        match mode {
            "ReadWriteOnce" => Self::READ_WRITE_ONCE.0,
            "ReadOnlyMany" => Self::READ_ONLY_MANY.0,
            "ReadWriteMany" => Self::READ_WRITE_MANY.0,
            "ReadWriteOncePod" => Self::READ_WRITE_ONCE_POD.0,
            // The API server refuses any other mode; a claim that has one must not match a volume
            // that lacks it.
            _ => 16,
        }
    }
}

/// What a volume looks like to its pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VolumeMode {
    /// A directory; also if nothing is said.
    Filesystem,
    /// A raw device.
    Block,
}

impl VolumeMode {
    pub(crate) fn from_api(mode: Option<&str>) -> Self {
        if mode == Some("Block") { Self::Block } else { Self::Filesystem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_its_parts() {
        let set = |modes: &[&str]| {
            AccessModes::from_api(Some(&modes.iter().map(|m| (*m).to_owned()).collect()))
        };
        let both = set(&["ReadWriteOnce", "ReadOnlyMany"]);
        assert!(both.contains(AccessModes::READ_WRITE_ONCE) && both.contains(set(&[])));
        assert!(!both.contains(AccessModes::READ_WRITE_MANY));
        assert!(!both.contains(set(&["ReadWriteOnce", "ReadWriteOncePod"])));
        assert!(!both.contains(set(&["Sideways"])));
    }
}
