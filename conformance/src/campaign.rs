//! Many cases on many executors: golden ones first, then generated ones, in parallel and in a fixed order; how the records are shown is left to `report`.

use std::collections::BTreeSet;

use plumbline_fixtures::{FixtureError, Kind, golden};
use plumbline_reference::{Problem, ProblemError, Shape};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rayon::prelude::*;

use crate::case::{Case, Origin};
use crate::examine::{Known, Record, examine, examine_known};
use crate::executor::Executor;
use crate::ledger::Ledger;
use crate::storage::Storage;
use crate::strategy::{Regime, Spec, shape_of, specs};

/// Steps of shrinking at most: each costs one case.
const SHRINK_STEPS: usize = 300;

/// What is run.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Generated cases for each executor.
    pub cases: usize,
    /// Seed of the generated cases.
    pub seed: u64,
    /// Regimes to generate from, in turn; all those of a kind of case if empty.
    pub regimes: Vec<Regime>,
    /// Whether the golden cases are run too.
    pub golden: bool,
}

/// Why a campaign cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// A golden case cannot be read.
    #[error(transparent)]
    Fixture(#[from] FixtureError),
    /// Inputs do not make a problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The strategy gave no value.
    #[error("no case could be generated: {0}")]
    Strategy(String),
}

/// A failing case made small.
pub struct Shrunk {
    /// The smallest spec that still fails.
    pub spec: Spec,
    /// Its record.
    pub record: Record,
}

impl Campaign {
    /// Runs every case on every executor that takes its kind. Records come in the order executor, golden case, generated
    /// case; `done` is called after each, in any order.
    ///
    /// # Errors
    /// If a golden case cannot be read or a case cannot be generated.
    pub fn run(
        &self,
        executors: &[Box<dyn Executor>],
        ledger: &Ledger,
        done: &(dyn Fn(&Record) + Sync),
    ) -> Result<Vec<Record>, CampaignError> {
        let mut columns: Vec<Vec<Record>> = executors.iter().map(|_| Vec::new()).collect();
        for kind in Kind::ALL {
            let places: Vec<usize> =
                (0..executors.len()).filter(|&place| executors[place].subject().kind == kind).collect();
            if places.is_empty() {
                continue;
            }
            let own: Vec<&dyn Executor> = places.iter().map(|&place| executors[place].as_ref()).collect();
            let golden = if self.golden { golden_problems(kind)? } else { Vec::new() };
            let generated = (0..self.cases).map(Job::Generated);
            let jobs: Vec<Job> = golden.iter().map(Job::Golden).chain(generated).collect();
            let rows: Vec<Vec<Record>> = jobs
                .into_par_iter()
                .map(|job| self.examine(&job, kind, &own, ledger, done))
                .collect::<Result<_, CampaignError>>()?;
            for (record, &place) in rows.into_iter().flat_map(|row| row.into_iter().zip(&places)) {
                columns[place].push(record);
            }
        }
        Ok(columns.into_iter().flatten().collect())
    }

    /// One case on several executors; what they read alike and allow alike is solved once.
    fn examine(
        &self,
        job: &Job,
        kind: Kind,
        executors: &[&dyn Executor],
        ledger: &Ledger,
        done: &(dyn Fn(&Record) + Sync),
    ) -> Result<Vec<Record>, CampaignError> {
        let storages: BTreeSet<Storage> = executors.iter().map(|e| e.subject().storage).collect();
        let cases: Vec<Case> =
            storages.into_iter().map(|storage| self.case(job, kind, storage)).collect::<Result<_, _>>()?;
        let mut known: Vec<Known> = cases.iter().map(Known::new).collect();
        let mut records = Vec::new();
        for &executor in executors {
            let fits = |known: &&mut Known| known.case().storage == executor.subject().storage;
            let Some(known) = known.iter_mut().find(fits) else { continue };
            let record = examine_known(known, executor, ledger);
            done(&record);
            records.push(record);
        }
        Ok(records)
    }

    /// Number of examinations that [`Campaign::run`] makes for an executor that takes a kind of case.
    ///
    /// # Errors
    /// If the golden cases cannot be read.
    pub fn examinations(&self, kind: Kind) -> Result<usize, CampaignError> {
        Ok(self.cases + if self.golden { golden_names(kind)?.len() } else { 0 })
    }

    fn case(&self, job: &Job, kind: Kind, storage: Storage) -> Result<Case, CampaignError> {
        Ok(match job {
            Job::Golden((name, problem)) => {
                Case::of_problem(Origin::Golden(name.clone()), problem.clone(), storage)
            }
            Job::Generated(index) => Case::generated(self.spec(kind, *index)?, storage)?,
        })
    }

    /// Generated spec `index` of a kind.
    ///
    /// # Errors
    /// If the strategy gives no value.
    pub fn spec(&self, kind: Kind, index: usize) -> Result<Spec, CampaignError> {
        Ok(self.tree(kind, index)?.current())
    }

    /// Case `index` depends on the seed and the index alone, not on how many others there are.
    fn tree(&self, kind: Kind, index: usize) -> Result<impl ValueTree<Value = Spec> + use<>, CampaignError> {
        let regimes = if self.regimes.is_empty() { Regime::of(kind) } else { self.regimes.clone() };
        let regime = regimes[index % regimes.len()];
        let mut seed = [0u8; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..16].copy_from_slice(&(index as u64).to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        specs(kind, &[regime])
            .new_tree(&mut runner)
            .map_err(|reason| CampaignError::Strategy(reason.to_string()))
    }

    /// Makes generated case `index`, which fails on this executor, as small and as plain as it still fails.
    ///
    /// # Errors
    /// If the case cannot be generated again.
    pub fn shrink(
        &self,
        index: usize,
        executor: &dyn Executor,
        ledger: &Ledger,
    ) -> Result<Option<Shrunk>, CampaignError> {
        let (kind, storage) = (executor.subject().kind, executor.subject().storage);
        let fails = |spec: Spec| -> Option<Shrunk> {
            let case = Case::generated(spec, storage).ok()?;
            let record = examine(&case, executor, ledger);
            record.deviates().then_some(Shrunk { spec, record })
        };
        let mut tree = self.tree(kind, index)?;
        let Some(mut smallest) = fails(tree.current()) else { return Ok(None) };
        let mut simpler = tree.simplify();
        for _ in 0..SHRINK_STEPS {
            if !simpler {
                break;
            }
            simpler = match fails(tree.current()) {
                Some(found) => {
                    smallest = found;
                    tree.simplify()
                }
                None => tree.complicate(),
            };
        }
        // The strategy shrinks within its own distributions; what lies between them is tried by hand.
        for _ in 0..SHRINK_STEPS {
            match smaller(smallest.spec).into_iter().find_map(&fails) {
                Some(found) => smallest = found,
                None => break,
            }
        }
        Ok(Some(smallest))
    }
}

/// Specs one step smaller or plainer, the boldest step first.
fn smaller(spec: Spec) -> Vec<Spec> {
    let Shape { batch, length, width } = spec.shape;
    let sizes = |n: usize, least: usize| {
        [least, n / 2, n.saturating_sub(1)].into_iter().filter(move |&m| m >= least && m < n)
    };
    let with = |shape| Spec { shape: shape_of(spec.kind, shape), ..spec };
    let mut specs: Vec<Spec> = Vec::new();
    specs.extend(sizes(batch, 1).map(|batch| with(Shape { batch, ..spec.shape })));
    specs.extend(sizes(width, 1).map(|width| with(Shape { width, ..spec.shape })));
    specs.extend(sizes(length, 0).map(|length| with(Shape { length, ..spec.shape })));
    let before = |regime: &Regime| *regime != spec.regime;
    specs.extend(Regime::of(spec.kind).into_iter().take_while(before).map(|regime| Spec { regime, ..spec }));
    // Rounding an odd width up may have led back.
    specs.retain(|smaller| *smaller != spec);
    specs
}

enum Job<'a> {
    Golden(&'a (String, Problem)),
    Generated(usize),
}

/// Names of the golden cases from which problems of a kind are made.
///
/// # Errors
/// If the manifest cannot be read.
pub fn golden_names(kind: Kind) -> Result<Vec<&'static str>, FixtureError> {
    let stored = stored_kind(kind);
    Ok(golden::cases()?.iter().filter(|c| c.kind.kind() == stored).map(|c| c.name.as_str()).collect())
}

/// The kind under which the golden cases of a kind are stored.
fn stored_kind(kind: Kind) -> Kind {
    if kind == Kind::RglruLogits { Kind::RglruProjected } else { kind }
}

/// One golden case as a kernel of a kind gets it: with [`Kind::RglruLogits`] the logits are given instead of the
/// projections, in f64 and not as they are stored, for the high-precision cases store none.
///
/// # Errors
/// If there is no such case or it cannot be read as that kind.
pub fn golden_problem(name: &str, kind: Kind) -> Result<Problem, CampaignError> {
    let problem = golden::problem(name, stored_kind(kind))?;
    Ok(if kind == Kind::RglruLogits { Case::with_given_logits(problem)? } else { problem })
}

fn golden_problems(kind: Kind) -> Result<Vec<(String, Problem)>, CampaignError> {
    golden_names(kind)?.into_iter().map(|name| Ok((name.to_owned(), golden_problem(name, kind)?))).collect()
}
