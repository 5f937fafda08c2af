//! `roadstead explain`: why a pod waits.

use std::io::Write;

use clap::ValueEnum;
use roadstead_scheduler::config::print_yaml;

use super::asking::{self, Server};
use crate::FINE;
use crate::error::Error;
use crate::explained;

/// Ask a running scheduler why a pod is where it is, and what would place it.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explain {
    /// The pod.
    #[arg(value_name = "[NAMESPACE/]POD", value_parser = explained::parse)]
    pod: String,
    /// The namespace of the pod, if its name does not say it.
    #[arg(
        short, long, default_value = "default",
        value_parser = clap::builder::NonEmptyStringValueParser::new()
    )]
    namespace: String,
    /// text: in words. json, yaml: all of it.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    output: Output,
    #[command(flatten)]
    server: Server,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum Output {
    Text,
    Json,
    Yaml,
}

const EXAMPLES: &str = "\
Examples:
  roadstead explain web-0
  roadstead explain ml/train-vision -o json
  roadstead explain web-0 --via-cluster           a scheduler that runs in the cluster of kubectl";

impl Explain {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<u8, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(Error::Threads)?.block_on(self.ask(out))
    }

    async fn ask(&self, out: &mut dyn Write) -> Result<u8, Error> {
        let (namespace, name) = explained::split(&self.pod, &self.namespace);
        let mut asking = self.server.connect().await.map_err(Error::Ask)?;
        let path = format!("pods/{}/{}", asking::encode(namespace), asking::encode(name));
        let mut found = asking.get(&path, &[]).await.map_err(Error::Ask)?;
        let text = found.as_object_mut().and_then(|found| found.remove("text"));
        let text = text.as_ref().and_then(|text| text.as_str());
        let text = text.ok_or_else(|| Error::Ask(asking.garbled("there is no text in it")))?;
        match self.output {
            Output::Text => out.write_all(text.as_bytes())?,
            Output::Json => {
                serde_json::to_writer_pretty(&mut *out, &found)?;
                writeln!(out)?;
            }
            Output::Yaml => out.write_all(print_yaml(&found).as_bytes())?,
        }
        Ok(FINE)
    }
}
