//! The scheduling queue beside kube-scheduler's.

use crate::peer;
use crate::table::{Figures, Side};

/// What both sides do.
const WORKS: [&str; 10] = [
    "add",
    "pop",
    "steady",
    "event-skip",
    "event-queue-1pct",
    "event-unregistered",
    "assigned",
    "flush-backoff",
    "flush-leftover",
    "bytes",
];

/// What is done with a million waiting: the rest would take hours on the other side.
const WORKS_AT_A_MILLION: [&str; 3] = ["add", "pop", "steady"];

const MILLION: usize = 1_000_000;

pub(crate) fn compare(arguments: &[String]) -> Result<(), String> {
    let options = Options::read(arguments)?;
    let queue = peer::build_bench("roadstead-queue", "queue")?;
    let bytes = peer::build_bench("roadstead-queue", "bytes")?;
    let go = if peer::has_go() {
        Some(peer::build_go("queue-go")?)
    } else {
        eprintln!(
            "no Go toolchain found: kube-scheduler's queue is left out, these are ours alone"
        );
        None
    };

    let mut figures = Figures::default();
    for round in 0..options.rounds {
        eprintln!("round {} of {}", round + 1, options.rounds);
        for (works, depths) in options.runs(round) {
            let list = |depths: &[usize]| {
                depths.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
            };
            let ours = [
                "--json".to_owned(),
                "--works".to_owned(),
                works.join(","),
                "--depths".to_owned(),
                list(&depths),
            ];
            figures.add(Side::Ours, peer::run(&queue, &ours)?);
            if works.iter().any(|work| work == "bytes") {
                figures.add(Side::Ours, peer::run(&bytes, &ours)?);
            }
            if let Some(go) = &go {
                let theirs =
                    ["-works".to_owned(), works.join(","), "-depths".to_owned(), list(&depths)];
                figures.add(Side::Peer, peer::run(go, &theirs)?);
            }
        }
    }
    if options.json {
        figures.print_json();
    } else {
        figures.print_table();
    }
    Ok(())
}

struct Options {
    json: bool,
    rounds: usize,
    works: Vec<String>,
    depths: Vec<usize>,
}

impl Options {
    fn read(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            json: false,
            rounds: 3,
            works: WORKS.map(str::to_owned).to_vec(),
            depths: vec![1_000, 10_000, 100_000, MILLION],
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| format!("`{argument}` needs a value"));
            let number = |text: &str| {
                let parsed = text.parse().ok().filter(|number| *number > 0);
                parsed.ok_or_else(|| format!("`{text}` is not a positive number"))
            };
            match argument.as_str() {
                "--json" => options.json = true,
                "--rounds" => options.rounds = number(value()?)?,
                "--works" => options.works = value()?.split(',').map(str::to_owned).collect(),
                "--depths" => {
                    options.depths = value()?.split(',').map(number).collect::<Result<_, _>>()?;
                }
                other => return Err(format!("unknown option `{other}`; see `compare --help`")),
            }
        }
        match options.works.iter().find(|work| !WORKS.contains(&work.as_str())) {
            Some(work) => Err(format!("no work is called `{work}`: {}", WORKS.join(", "))),
            None => Ok(options),
        }
    }

    /// What to run in one round: some works at some depths.
    fn runs(&self, round: usize) -> Vec<(Vec<String>, Vec<usize>)> {
        let (few, many): (Vec<_>, Vec<_>) = self.depths.iter().partition(|depth| **depth < MILLION);
        let of_many = |work: &&String| WORKS_AT_A_MILLION.contains(&work.as_str());
        let works_of_many: Vec<_> = self.works.iter().filter(of_many).cloned().collect();
        let mut runs = Vec::new();
        if !few.is_empty() {
            runs.push((self.works.clone(), few));
        }
        // Once is enough at that depth: a run is long, and noise is averaged within it.
        if !many.is_empty() && round == 0 && !works_of_many.is_empty() {
            runs.push((works_of_many, many));
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_is_run_once_and_only_where_it_can_be() {
        let options = Options::read(&[]).unwrap();
        let first = options.runs(0);
        assert_eq!(first.len(), 2);
        assert_eq!(first[1], (WORKS_AT_A_MILLION.map(str::to_owned).to_vec(), vec![MILLION]));
        assert_eq!(options.runs(1).len(), 1);
    }

    #[test]
    fn wrong_options_are_named() {
        let read = |argument: &[&str]| {
            let arguments: Vec<_> = argument.iter().map(|text| (*text).to_owned()).collect();
            Options::read(&arguments).err().unwrap_or_default()
        };
        assert_eq!(read(&["--rounds", "0"]), "`0` is not a positive number");
        assert_eq!(read(&["--depths"]), "`--depths` needs a value");
        assert!(read(&["--works", "addd"]).starts_with("no work is called `addd`"));
        assert!(read(&["--fast"]).starts_with("unknown option `--fast`"));
    }
}
