//! Steps as bytes.
//!
//! A step is a tag, the time since the step before, and what belongs to it. The first of a block
//! has the time since the epoch, so that a block stands on its own.

use roadstead_cluster::{Kind, Object};
use roadstead_model::Text;
use roadstead_queue::Time;
use serde_json::Value;

use crate::bytes::{Bytes, put_number, put_text};
use crate::step::{Answer, Step};

const SET: u8 = 1;
const GONE: u8 = 2;
const BOUND: u8 = 3;
const WRITTEN: u8 = 4;
const EVICTED: u8 = 5;
const ON_TIME: u8 = 6;
const CYCLE: u8 = 7;
const VERIFY: u8 = 8;
const TROUBLE: u8 = 9;
const DECIDED: u8 = 10;
const ENDED: u8 = 11;

/// Writes a step; `since` is the time of the one before.
///
/// # Errors
/// An object cannot be written as JSON.
pub(crate) fn encode(
    out: &mut Vec<u8>,
    since: Time,
    at: Time,
    step: &Step,
) -> serde_json::Result<()> {
    let tag = match step {
        Step::Set(_) => SET,
        Step::Gone(_) => GONE,
        Step::Bound { .. } => BOUND,
        Step::Written { .. } => WRITTEN,
        Step::Evicted { .. } => EVICTED,
        Step::OnTime => ON_TIME,
        Step::Cycle => CYCLE,
        Step::Verify { .. } => VERIFY,
        Step::Trouble(_) => TROUBLE,
        Step::Decided { .. } => DECIDED,
        Step::Ended { .. } => ENDED,
    };
    out.push(tag);
    // Wraps around if time goes back: long, and right all the same.
    put_number(out, at.as_nanos().wrapping_sub(since.as_nanos()));
    match step {
        Step::Set(object) | Step::Gone(object) => put_object(out, object)?,
        Step::Bound { uid, result } | Step::Written { uid, result } => {
            put_answer(out, uid, result);
        }
        Step::Evicted { preemptor, result } => put_answer(out, preemptor, result),
        Step::OnTime | Step::Cycle => {}
        Step::Verify { budget } => put_number(out, *budget),
        Step::Trouble(text) => put_text(out, text),
        Step::Decided { commands, digest } => {
            put_number(out, *commands);
            out.extend_from_slice(&digest.to_le_bytes());
        }
        Step::Ended { commands, digest } => {
            put_number(out, *commands);
            out.extend_from_slice(&digest.to_le_bytes());
        }
    }
    Ok(())
}

/// Reads a step.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn decode(bytes: &mut Bytes<'_>, since: Time) -> Result<(Time, Step), String> {
    let tag = bytes.byte().ok_or_else(cut)?;
    let passed = bytes.number().ok_or_else(cut)?;
    let at = Time::from_nanos(since.as_nanos().wrapping_add(passed));
    let step = match tag {
        SET => Step::Set(object(bytes)?),
        GONE => Step::Gone(object(bytes)?),
        BOUND => answer(bytes).map(|(uid, result)| Step::Bound { uid, result })?,
        WRITTEN => answer(bytes).map(|(uid, result)| Step::Written { uid, result })?,
        EVICTED => answer(bytes).map(|(preemptor, result)| Step::Evicted { preemptor, result })?,
        ON_TIME => Step::OnTime,
        CYCLE => Step::Cycle,
        VERIFY => Step::Verify { budget: bytes.number().ok_or_else(cut)? },
        TROUBLE => Step::Trouble(bytes.text().ok_or_else(cut)?.to_owned()),
        DECIDED => {
            let commands = bytes.number().ok_or_else(cut)?;
            Step::Decided { commands, digest: u16::from_le_bytes(array(bytes)?) }
        }
        ENDED => {
            let commands = bytes.number().ok_or_else(cut)?;
            Step::Ended { commands, digest: u64::from_le_bytes(array(bytes)?) }
        }
        unknown => return Err(format!("it is of the unknown kind {unknown}")),
    };
    Ok((at, step))
}

/// Passes over a step, and says when it was. `None` if it is not understood.
pub(crate) fn skip(bytes: &mut Bytes<'_>, since: Time) -> Option<Time> {
    let tag = bytes.byte()?;
    let at = Time::from_nanos(since.as_nanos().wrapping_add(bytes.number()?));
    match tag {
        SET | GONE => {
            bytes.sized()?;
            bytes.sized()?;
        }
        BOUND | WRITTEN | EVICTED => {
            bytes.sized()?;
            if bytes.byte()? != 0 {
                bytes.sized()?;
            }
        }
        ON_TIME | CYCLE => {}
        VERIFY => {
            bytes.number()?;
        }
        TROUBLE => {
            bytes.sized()?;
        }
        DECIDED => {
            bytes.number()?;
            bytes.take(size_of::<u16>())?;
        }
        ENDED => {
            bytes.number()?;
            bytes.take(size_of::<u64>())?;
        }
        _ => return None,
    }
    Some(at)
}

fn put_object(out: &mut Vec<u8>, object: &Object) -> serde_json::Result<()> {
    put_text(out, object.kind().name());
    let mut value = object.to_json()?;
    // Most of an object, and nobody here looks at them.
    if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    let json = serde_json::to_vec(&value)?;
    put_number(out, json.len() as u64);
    out.extend_from_slice(&json);
    Ok(())
}

fn object(bytes: &mut Bytes<'_>) -> Result<Object, String> {
    let name = bytes.text().ok_or_else(cut)?;
    let kind = Kind::ALL.iter().find(|kind| kind.name() == name);
    let kind = kind.ok_or_else(|| format!("it holds an object of the unknown kind {name}"))?;
    let json = bytes.sized().ok_or_else(cut)?;
    let value: Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    Object::from_json(*kind, &value).map_err(|error| format!("{name}: {error}"))
}

fn put_answer(out: &mut Vec<u8>, uid: &Text, result: &Answer) {
    put_text(out, uid);
    match result {
        Ok(()) => out.push(0),
        Err(message) => {
            out.push(1);
            put_text(out, message);
        }
    }
}

fn answer(bytes: &mut Bytes<'_>) -> Result<(Text, Answer), String> {
    let uid = Text::unshared(bytes.text().ok_or_else(cut)?);
    let result = match bytes.byte().ok_or_else(cut)? {
        0 => Ok(()),
        _ => Err(bytes.text().ok_or_else(cut)?.to_owned()),
    };
    Ok((uid, result))
}

fn array<const N: usize>(bytes: &mut Bytes<'_>) -> Result<[u8; N], String> {
    bytes.take(N).and_then(|bytes| bytes.try_into().ok()).ok_or_else(cut)
}

fn cut() -> String {
    "it is cut short".to_owned()
}
