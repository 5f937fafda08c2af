//! `roadstead queue`: what waits in a running scheduler.

mod following;
mod rows;

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use roadstead_scheduler::config::print_yaml;
use serde_json::{Value, json};

use self::rows::{Columns, Item};
use super::asking::{Asking, Server};
use crate::FINE;
use crate::error::Error;
use crate::serving::api::{queue_orders, queue_places};

/// Ask a running scheduler which pods wait, where, and who rejected them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Queue {
    /// The namespace of the pods.
    #[arg(short, long, default_value = "default")]
    namespace: String,
    /// The pods of all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Only those in this place: active, backoff, unschedulable, gated or inFlight.
    #[arg(long, value_name = "PLACE", value_parser = place)]
    place: Option<String>,
    /// Only those in whose namespace and name this occurs.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// The order: place, namespace, name, priority, attempts, queued, since or backoff; with a -
    /// before it from the end.
    #[arg(
        long, value_name = "FIELD", default_value = "place", allow_hyphen_values = true,
        value_parser = order
    )]
    sort_by: String,
    /// So many at most.
    #[arg(
        long, value_name = "NUMBER", conflicts_with = "watch",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    limit: Option<u32>,
    /// Go on, and print every pod that comes, changes or leaves: each second, or less often when
    /// more than 10,000 are listed. A scheduler that does not answer is waited for, for five
    /// minutes.
    #[arg(short, long)]
    watch: bool,
    /// table, or wide: with more columns. json, yaml: all that is known; json with --watch: a line
    /// for each change, {"type": "ADDED|MODIFIED|DELETED", "object": …}.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Output::Table)]
    output: Output,
    #[command(flatten)]
    server: Server,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum Output {
    Table,
    Wide,
    Json,
    Yaml,
}

const EXAMPLES: &str = "\
Examples:
  roadstead queue -A
  roadstead queue -A --sort-by -attempts --limit 20
  roadstead queue -n ml -w                        what changes, as it changes
  roadstead queue -A -w -o json | jq -c .type     the same for programs, a line for each change
  roadstead queue -A --via-cluster -o wide        a scheduler that runs in the cluster of kubectl";

impl Queue {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<u8, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(Error::Threads)?.block_on(self.ask(out))
    }

    async fn ask(&self, out: &mut dyn Write) -> Result<u8, Error> {
        if self.watch && self.output == Output::Yaml {
            return Err(Error::WatchedDocument);
        }
        let mut asking = self.server.connect().await.map_err(Error::Ask)?;
        if self.watch {
            return self.follow(&mut asking, out).await;
        }
        let listed = self.list(&mut asking).await?;
        match self.output {
            Output::Json => {
                serde_json::to_writer_pretty(&mut *out, &listed)?;
                writeln!(out)?;
            }
            Output::Yaml => out.write_all(print_yaml(&listed).as_bytes())?,
            Output::Table | Output::Wide => {
                self.print(&asking, listed, out)?;
                let status = asking.get("status", &[]).await.map_err(Error::Ask)?;
                if let Some(line) = unclaimed(&status["unclaimed"]) {
                    writeln!(out, "{line}")?;
                }
            }
        }
        Ok(FINE)
    }

    fn print(&self, asking: &Asking, listed: Value, out: &mut dyn Write) -> Result<(), Error> {
        let total = listed["total"].as_u64();
        let (now, items) = read(asking, listed)?;
        if items.is_empty() {
            match self.all_namespaces {
                true => writeln!(out, "No pods wait.")?,
                false => writeln!(out, "No pods wait in namespace {}.", self.namespace)?,
            }
            return Ok(());
        }
        self.columns().print_with_titles(&items, now, out)?;
        // For people alone: whoever reads a table by program expects a table.
        if io::stdout().is_terminal() {
            out.flush()?;
            eprintln!("{}", rows::summary(&items, total));
        }
        Ok(())
    }

    fn columns(&self) -> Columns {
        Columns::new(self.all_namespaces, self.output == Output::Wide)
    }

    /// All pages of what was asked for, as one document.
    async fn list(&self, asking: &mut Asking) -> Result<Value, Error> {
        let mut fixed = vec![("sort", self.sort_by.as_str())];
        if !self.all_namespaces {
            fixed.push(("namespace", &self.namespace));
        }
        fixed.extend(self.place.as_deref().map(|place| ("place", place)));
        fixed.extend(self.search.as_deref().map(|text| ("search", text)));
        let mut all: Vec<Value> = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let missing = self.limit.map_or(PAGE, |limit| limit as usize - all.len());
            let limit = missing.min(PAGE).to_string();
            let mut parameters = fixed.clone();
            parameters.push(("limit", &limit));
            parameters.extend(token.as_deref().map(|token| ("continue", token)));
            let mut page = asking.get("queue", &parameters).await.map_err(Error::Ask)?;
            let (now, total) = (page["now"].take(), page["total"].take());
            let Value::Array(items) = page["items"].take() else {
                return Err(Error::Ask(asking.garbled("there are no items in it")));
            };
            all.extend(items);
            token = page["continue"].as_str().map(str::to_owned);
            let is_enough = self.limit.is_some_and(|limit| all.len() >= limit as usize);
            if token.is_none() || is_enough {
                return Ok(json!({"now": now, "total": total, "items": all}));
            }
        }
    }
}

/// Pods that wait for a scheduler that is not there, in one line, if there are any.
fn unclaimed(found: &Value) -> Option<String> {
    let total = found["total"].as_u64().filter(|total| *total > 0)?;
    let pods = found["pods"].as_array()?.iter().map(|pod| {
        let [namespace, name, scheduler] =
            ["namespace", "name", "schedulerName"].map(|field| pod[field].as_str().unwrap_or("?"));
        format!("{namespace}/{name} ({scheduler})")
    });
    let pods: Vec<String> = pods.collect();
    let more = if total > pods.len() as u64 { ", …" } else { "" };
    let waits = if total == 1 { "1 pod waits" } else { &format!("{total} pods wait") };
    Some(format!("{waits} for another scheduler: {}{more}", pods.join(", ")))
}

fn read(asking: &Asking, mut listed: Value) -> Result<(f64, Vec<Item>), Error> {
    let now = listed["now"].as_f64().unwrap_or_default();
    let items = serde_json::from_value(listed["items"].take());
    Ok((now, items.map_err(|error| Error::Ask(asking.garbled(error)))?))
}

fn order(text: &str) -> Result<String, String> {
    let word = text.strip_prefix('-').unwrap_or(text);
    let all: Vec<_> = queue_orders().collect();
    match all.contains(&word) {
        true => Ok(text.to_owned()),
        false => Err(format!("expected one of {}, or one with a - before it", all.join(", "))),
    }
}

fn place(text: &str) -> Result<String, String> {
    let all: Vec<_> = queue_places().collect();
    match all.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("expected one of {}", all.join(", "))),
    }
}

const PAGE: usize = 1000;
