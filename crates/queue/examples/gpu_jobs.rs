//! An afternoon of a small GPU cluster, in virtual time.
//!
//! Jobs wait for machines with enough free GPUs. A job that finds none sleeps until a machine
//! comes or another job ends, and is asked about only then; one job is held until it is approved,
//! another is so large that it must wait for a bigger machine.
//!
//! `cargo run --release -p roadstead-queue --example gpu_jobs`

use std::collections::BTreeMap;
use std::time::Duration;

use roadstead_queue::{
    Action, Ask, Config, Event, Gate, Hint, HintError, HintVerdict, Item, Observer, Place, Plugin,
    PluginId, Plugins, Policy, PrioritySort, Queue, Rejection, Resource, Time, Transition,
};

const MACHINE: Resource = Resource::new("Machine");
const JOB: Resource = Resource::new("Job");
const FREED: Action = Action::update(0, "Freed");
const APPROVED: Action = Action::update(1, "Approved");

fn main() {
    println!(
        "   time  what happens                                active  backoff  unsched.  gated"
    );
    let mut cluster = Cluster::new();
    cluster.machine_joins("a100-1", 8);
    cluster.machine_joins("a100-2", 8);
    let mut plan = Plan::default();
    plan.jobs();
    plan.at(40, Step::Approve);
    plan.at(70, Step::Join("h100-1", 16));

    while let Some((now, step)) = plan.next(&cluster) {
        cluster.now = now;
        match step {
            Step::Arrive(job) => cluster.arrives(job),
            Step::Approve => cluster.approve(),
            Step::Join(name, gpus) => cluster.machine_joins(name, gpus),
            Step::Done(job) => cluster.job_ends(&job),
            Step::Tick => cluster.queue.on_time(now),
        }
        cluster.schedule(&mut plan);
    }
    cluster.print_summary();
}

/// What waits: some GPUs for some time.
#[derive(Clone)]
struct Job {
    name: String,
    gpus: u64,
    urgency: i32,
    minutes: u64,
    approved: bool,
}

impl Item for Job {
    type Key = str;

    fn key(&self) -> &str {
        &self.name
    }

    fn priority(&self) -> i32 {
        self.urgency
    }

    /// Jobs that ask for as many GPUs are asked about together.
    fn class(&self) -> Option<u64> {
        Some(self.gpus)
    }
}

/// Who may say no: `Gpus`, where no machine has enough free, and `Approval`, which is a gate.
struct Rules {
    gpus: PluginId,
}

impl Policy for Rules {
    type Item = Job;
    /// What events carry: how many GPUs of the machine are free now.
    type Object = u64;

    fn hint(&self, plugin: PluginId, job: &Job, event: &Event<u64>) -> Result<Hint, HintError> {
        let enough = event.new.is_some_and(|free| free >= job.gpus);
        Ok(if plugin != self.gpus || enough { Hint::Queue } else { Hint::Skip })
    }

    fn gate(&self, _: PluginId, job: &Job) -> Gate {
        if job.approved { Gate::Open } else { Gate::Closed }
    }
}

/// Counts what the queue did.
#[derive(Default)]
struct Tally {
    asked: usize,
    answered_for: usize,
    woken: usize,
}

impl Observer<Job, u64> for Tally {
    fn hint(&mut self, verdict: &HintVerdict<'_, Job, u64>) {
        self.asked += 1;
        self.answered_for += verdict.items;
    }

    fn transition(&mut self, step: &Transition<'_, Job>) {
        let woken = step.from.is_some_and(Place::is_pool) && !step.to.is_some_and(Place::is_pool);
        self.woken += usize::from(woken);
    }
}

/// The machines, the jobs that run on them, and the queue before them.
struct Cluster {
    queue: Queue<Rules, PrioritySort, Tally>,
    gpus: PluginId,
    free: BTreeMap<&'static str, u64>,
    running: BTreeMap<String, (&'static str, u64)>,
    now: Time,
    attempts: u32,
    placed: u32,
    waited: Duration,
}

impl Cluster {
    fn new() -> Self {
        let mut plugins = Plugins::new();
        let gpus = plugins.add(Plugin::new("Gpus").on(MACHINE, Action::ADD | FREED, Ask::Class));
        plugins.add(Plugin::new("Approval").gate().on(JOB, APPROVED, Ask::Nobody));
        let rules = Rules { gpus };
        // Jobs run for minutes, and the hints miss nothing: no need to try on the off chance.
        let config = Config { leftover_after: minutes(600), ..Config::default() };
        let queue = Queue::with(config, plugins, rules, PrioritySort, Tally::default());
        Self {
            queue,
            gpus,
            free: BTreeMap::new(),
            running: BTreeMap::new(),
            now: Time::ZERO,
            attempts: 0,
            placed: 0,
            waited: Duration::ZERO,
        }
    }

    fn machine_joins(&mut self, name: &'static str, gpus: u64) {
        self.free.insert(name, gpus);
        self.queue.on_event(Event::added(MACHINE, gpus), self.now);
        self.print(&format!("machine {name} joins with {gpus} GPUs"));
    }

    fn arrives(&mut self, job: Job) {
        let what = format!("{} arrives, asks for {} GPUs", job.name, job.gpus);
        self.queue.add(job, self.now);
        self.print(&what);
    }

    fn approve(&mut self) {
        if let Some(waiting) = self.queue.get("secret-project") {
            let job = Job { approved: true, ..waiting.item().clone() };
            self.queue.update(job, [Event::new(JOB, APPROVED)], self.now);
            self.print("secret-project is approved");
        }
    }

    fn job_ends(&mut self, job: &str) {
        let Some((machine, gpus)) = self.running.remove(job) else { return };
        let before = self.free[machine];
        self.free.insert(machine, before + gpus);
        let event = Event::updated(MACHINE, FREED, before, before + gpus);
        self.queue.on_event(event, self.now);
        self.print(&format!("{job} ends, {machine} has {} free", before + gpus));
    }

    /// Tries every job that may be tried.
    fn schedule(&mut self, plan: &mut Plan) {
        while let Some(attempt) = self.queue.pop(self.now) {
            self.attempts += 1;
            let Some(job) = self.queue.item(&attempt).cloned() else { continue };
            // Best fit: the machine that has the least to spare.
            let fits = self.free.iter().filter(|(_, free)| **free >= job.gpus);
            let Some((&machine, &free)) = fits.min_by_key(|(_, free)| **free) else {
                let rejected = self.queue.reject(attempt, Rejection::by(&[self.gpus]), self.now);
                rejected.expect("nobody else has the job's name");
                continue;
            };
            let finished = self.queue.finish(attempt).expect("the attempt is this queue's");
            self.free.insert(machine, free - job.gpus);
            self.placed += 1;
            self.waited += self.now - finished.first_ready().unwrap_or(self.now);
            self.print(&format!("  {} starts on {machine}", job.name));
            plan.at_time(self.now + minutes(job.minutes), Step::Done(job.name.clone()));
            self.running.insert(job.name, (machine, job.gpus));
        }
    }

    fn print(&self, what: &str) {
        let counts = self.queue.counts();
        let bar = |count: usize| match count {
            0 => "·".to_owned(),
            count => format!("{} {count}", "▪".repeat(count.min(5))),
        };
        println!(
            "{:>4}min  {what:<42}  {:<7} {:<8} {:<9} {}",
            self.now.as_millis() / 60_000,
            bar(counts.active),
            bar(counts.backoff + counts.error_backoff),
            bar(counts.unschedulable),
            bar(counts.gated),
        );
    }

    fn print_summary(&self) {
        let tally = self.queue.observer();
        let waited = self.waited.as_secs() / 60 / u64::from(self.placed.max(1));
        println!(
            "\n{} jobs placed in {} attempts, {waited} minutes waited on average",
            self.placed, self.attempts
        );
        println!(
            "{} jobs woken by events; hints were asked {} times and answered for {} jobs",
            tally.woken, tally.asked, tally.answered_for
        );
        for waiting in self.queue.pool() {
            let names: Vec<_> = waiting
                .rejectors()
                .unschedulable()
                .iter()
                .map(|plugin| self.queue.plugins().name(*plugin))
                .collect();
            println!("{} still waits, rejected by {}", waiting.item().name, names.join(", "));
        }
    }
}

/// What is to happen, by time and then in the order in which it was planned.
#[derive(Default)]
struct Plan {
    steps: BTreeMap<(Time, usize), Step>,
    planned: usize,
}

enum Step {
    Arrive(Job),
    Approve,
    Join(&'static str, u64),
    Done(String),
    Tick,
}

impl Plan {
    /// Two dozen jobs of an afternoon; any sequence will do, if it repeats.
    fn jobs(&mut self) {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let job = |name: String, gpus, urgency, minutes| Job {
            name,
            gpus,
            urgency,
            minutes,
            approved: true,
        };
        for number in 1..=20 {
            let gpus = [1, 2, 4, 8][random(4) as usize];
            let name = format!("{}-{number}", ["train", "tune", "eval"][random(3) as usize]);
            let arriving = job(name, gpus, random(3) as i32, 10 + random(25));
            self.at(random(60), Step::Arrive(arriving));
        }
        self.at(5, Step::Arrive(job("foundation-model".into(), 16, 5, 30)));
        let secret = Job { approved: false, ..job("secret-project".into(), 2, 9, 15) };
        self.at(10, Step::Arrive(secret));
        self.at(65, Step::Arrive(job("impossible".into(), 64, 0, 1)));
    }

    fn at(&mut self, minute: u64, step: Step) {
        self.at_time(Time::ZERO + minutes(minute), step);
    }

    fn at_time(&mut self, time: Time, step: Step) {
        self.planned += 1;
        self.steps.insert((time, self.planned), step);
    }

    /// The next thing to happen: a planned step, or the queue's own timers.
    fn next(&mut self, cluster: &Cluster) -> Option<(Time, Step)> {
        let (&(planned, _), _) = self.steps.first_key_value()?;
        match cluster.queue.next_wakeup() {
            Some(wakeup) if wakeup < planned => Some((wakeup, Step::Tick)),
            _ => self.steps.pop_first().map(|((time, _), step)| (time, step)),
        }
    }
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}
