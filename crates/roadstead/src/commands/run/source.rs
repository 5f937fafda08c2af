//! What the endpoints ask of the scheduler.

use std::time::Instant;

use roadstead_cluster::kubernetes::election::Leadership;
use roadstead_scheduler::config::SchedulerConfiguration;
use roadstead_scheduler::expose_pod_resources;
use serde_json::Value;

use crate::driver::{Question, Questions};
use crate::observing;
use crate::serving::api::{Epoch, Mode, Stage, Standing};
use crate::serving::{Answer, Source, Unavailable};

/// A scheduler that runs on its own thread.
pub(crate) struct Running {
    questions: Questions,
    leadership: Leadership,
    configuration: Value,
}

impl Running {
    pub(crate) fn new(
        questions: Questions,
        leadership: Leadership,
        configuration: &SchedulerConfiguration,
    ) -> Self {
        Self { questions, leadership, configuration: configuration.to_json() }
    }
}

impl Source for Running {
    fn metrics(&self) -> Answer<String> {
        let questions = self.questions.clone();
        Box::pin(async move {
            let text =
                questions.ask(|scheduler, _| observing::metrics(scheduler).expose(scheduler));
            text.await.ok_or_else(busy)
        })
    }

    fn reset_metrics(&self) -> Answer<()> {
        let questions = self.questions.clone();
        Box::pin(async move {
            let reset = questions.ask(|scheduler, _| observing::metrics_mut(scheduler).reset());
            reset.await.ok_or_else(busy)
        })
    }

    fn resource_metrics(&self) -> Answer<String> {
        let questions = self.questions.clone();
        let leads = self.leadership.may_write(Instant::now());
        Box::pin(async move {
            if !leads {
                return Ok(String::new());
            }
            questions.ask(|scheduler, _| expose_pod_resources(scheduler)).await.ok_or_else(busy)
        })
    }

    fn configuration(&self) -> Value {
        self.configuration.clone()
    }
}

impl Stage for Running {
    fn put(&self, question: Question) -> Answer<()> {
        let questions = self.questions.clone();
        Box::pin(async move { questions.put(question).await.ok_or_else(busy) })
    }

    fn standing(&self) -> Standing {
        Standing {
            mode: Mode::Run,
            epoch: Epoch::Unix,
            speed: 1.0,
            leads: self.leadership.may_write(Instant::now()),
        }
    }
}

fn busy() -> Unavailable {
    Unavailable("the scheduler has stopped, or is too busy to answer".to_owned())
}
