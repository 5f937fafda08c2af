//! Random runs with faults, recorded and replayed: every decision and every pod's history must be
//! the same. `ROADSTEAD_RUNS` and `ROADSTEAD_SEED` are as for the property tests.

#[path = "../property/churn.rs"]
mod churn;
mod damage;
mod other;
mod same;
mod testing;
