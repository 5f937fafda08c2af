//! Pods that are deleted while they are being scheduled leave nothing behind.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};

use crate::failure::Outcome;
use crate::objects::{create, create_all, delete, pod};
use crate::world::World;

pub(super) async fn run(world: &mut World) -> Outcome<String> {
    let client = &world.client;
    world.nodes(5, "2", "16Gi").await?;
    let _scheduler = world.scheduler().await?;

    let mut random = fastrand::Rng::with_seed(7);
    let lives: Vec<(usize, u64)> = (0..FLEETING).map(|index| (index, random.u64(0..60))).collect();
    stream::iter(lives)
        .map(|(index, milliseconds)| async move {
            let name = format!("fleeting-{index}");
            create(client, &pod(&name, "100m", "100Mi")).await?;
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            delete(client, &format!("/api/v1/namespaces/default/pods/{name}")).await
        })
        .buffer_unordered(16)
        .try_for_each(|()| async { Ok(()) })
        .await?;
    let gone = |book: &crate::ledger::Book| book.pods.is_empty();
    world.ledger.until("all fleeting pods are gone", PATIENCE, gone).await?;

    // All the room there is: were one fleeting pod still counted, one of these would wait.
    let pods: Vec<_> =
        (0..ROOM).map(|index| pod(&format!("lasting-{index}"), "100m", "100Mi")).collect();
    create_all(client, &pods).await?;
    world.until_bound(ROOM, PATIENCE).await?;
    Ok(format!("{FLEETING} pods deleted within 60 ms of their creation"))
}

const FLEETING: usize = 400;
const ROOM: usize = 100;
const PATIENCE: Duration = Duration::from_secs(40);
