//! What came out of a scheduler, in a number.

use roadstead_scheduler::framework::Write;
use roadstead_scheduler::{Command, Condition, Record};

/// A number that follows from all commands so far, in their order. Equal runs have equal ones; it
/// guards against mistakes, not against malice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    state: u64,
    commands: u64,
}

impl Default for Digest {
    fn default() -> Self {
        Self { state: 0x9e37_79b9_7f4a_7c15, commands: 0 }
    }
}

impl Digest {
    /// A command came out.
    pub fn add(&mut self, command: &Command) {
        self.commands += 1;
        match command {
            Command::Bind { pod, node } => self.texts(1, &[&pod.uid, node]),
            Command::Write { for_pod, write } => match write {
                Write::BindVolume(volume) => self.texts(2, &[&for_pod.uid, &volume.name]),
                Write::SelectNode(claim) => {
                    self.texts(3, &[&for_pod.uid, &claim.namespace, &claim.name]);
                }
            },
            Command::PatchStatus { pod, condition, nominated_node } => {
                self.texts(4, &[&pod.uid]);
                if let Some(Condition { reason, message, .. }) = condition {
                    self.texts(5, &[reason, message]);
                }
                if let Some(node) = nominated_node {
                    self.texts(6, &[node]);
                }
            }
            Command::Evict { victim, preemptor } => self.texts(7, &[&victim.uid, &preemptor.uid]),
            Command::RecordEvent(Record { regarding, reason, note, .. }) => {
                self.texts(8, &[&regarding.uid, reason, note]);
            }
        }
    }

    /// The number.
    #[must_use]
    pub fn value(&self) -> u64 {
        // The low bits of a product depend on the low bits of its factors alone.
        self.state ^ (self.state >> 32)
    }

    /// The end of the number, which a mark has.
    #[must_use]
    pub fn end(&self) -> u16 {
        let [.., high, low] = self.value().to_be_bytes();
        u16::from_be_bytes([high, low])
    }

    /// How many commands came out.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.commands
    }

    fn texts(&mut self, kind: u64, texts: &[&str]) {
        self.word(kind);
        for text in texts {
            self.word(text.len() as u64);
            for chunk in text.as_bytes().chunks(8) {
                let mut bytes = [0; 8];
                bytes[..chunk.len()].copy_from_slice(chunk);
                self.word(u64::from_le_bytes(bytes));
            }
        }
    }

    fn word(&mut self, word: u64) {
        self.state = (self.state.rotate_left(23) ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
    }
}
