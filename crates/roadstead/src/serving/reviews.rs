//! Questions to the API server about requests: how many at once, and for how long.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Semaphore;

/// Lets so many questions be under way at once. Whoever can reach the port can make up tokens, and
/// must not make the scheduler flood the API server with questions about them.
#[derive(Clone, Debug)]
pub(super) struct Reviews(Arc<Semaphore>);

const MOST: usize = 16;

impl Reviews {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }

    /// Waits for an answer, and says why there is none.
    pub(super) async fn ask<T>(
        &self,
        question: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, String> {
        let asked = async {
            let _turn = self.0.acquire().await.map_err(|error| error.to_string())?;
            question.await.map_err(|error| error.to_string())
        };
        let answer = tokio::time::timeout(super::REVIEW_TIME, asked).await;
        answer.unwrap_or_else(|_| Err("the API server did not answer in time".to_owned()))
    }
}
