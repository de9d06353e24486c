//! Many cases on many executors: golden ones first, then generated ones, in parallel and in a fixed order; how the records are shown is left to `report`.

use plumbline_fixtures::{CaseKind, FixtureError, Kind, golden};
use plumbline_reference::{Problem, ProblemError, Shape};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rayon::prelude::*;

use crate::case::{Case, Origin};
use crate::examine::{Record, examine};
use crate::executor::Executor;
use crate::ledger::Ledger;
use crate::storage::Storage;
use crate::strategy::{Regime, Spec, specs};

/// Steps of shrinking at most: each costs one case.
const SHRINK_STEPS: usize = 300;

/// What is run.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Generated cases for each executor.
    pub cases: usize,
    /// Seed of the generated cases.
    pub seed: u64,
    /// Regimes to generate from, in turn; all if empty.
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
    /// Runs every case on every executor. Records come in the order executor, golden case, generated case; `done`
    /// is called after each, in any order.
    ///
    /// # Errors
    /// If a golden case cannot be read or a case cannot be generated.
    pub fn run(
        &self,
        executors: &[Box<dyn Executor>],
        ledger: &Ledger,
        done: &(dyn Fn(&Record) + Sync),
    ) -> Result<Vec<Record>, CampaignError> {
        let golden = if self.golden { golden_problems()? } else { Vec::new() };
        let jobs: Vec<(&dyn Executor, Job)> = executors
            .iter()
            .flat_map(|executor| {
                let goldens = golden.iter().map(Job::Golden);
                let generated = (0..self.cases).map(Job::Generated);
                goldens.chain(generated).map(move |job| (executor.as_ref(), job))
            })
            .collect();
        jobs.into_par_iter()
            .map(|(executor, job)| {
                let case = self.case(&job, executor.subject().storage)?;
                let record = examine(&case, executor, ledger);
                done(&record);
                Ok(record)
            })
            .collect()
    }

    /// Number of examinations that [`Campaign::run`] makes for one executor.
    ///
    /// # Errors
    /// If the golden cases cannot be read.
    pub fn examinations(&self) -> Result<usize, CampaignError> {
        Ok(self.cases + if self.golden { golden_names()?.len() } else { 0 })
    }

    fn case(&self, job: &Job, storage: Storage) -> Result<Case, CampaignError> {
        Ok(match job {
            Job::Golden((name, problem)) => {
                Case::of_problem(Origin::Golden(name.clone()), problem.clone(), storage)?
            }
            Job::Generated(index) => Case::generated(self.spec(*index)?, storage)?,
        })
    }

    /// Generated spec `index`.
    ///
    /// # Errors
    /// If the strategy gives no value.
    pub fn spec(&self, index: usize) -> Result<Spec, CampaignError> {
        Ok(self.tree(index)?.current())
    }

    /// Case `index` depends on the seed and the index alone, not on how many others there are.
    fn tree(&self, index: usize) -> Result<impl ValueTree<Value = Spec> + use<>, CampaignError> {
        let regimes = if self.regimes.is_empty() { &Regime::ALL[..] } else { &self.regimes };
        let regime = regimes[index % regimes.len()];
        let mut seed = [0u8; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..16].copy_from_slice(&(index as u64).to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        specs(&[regime]).new_tree(&mut runner).map_err(|reason| CampaignError::Strategy(reason.to_string()))
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
        let storage = executor.subject().storage;
        let fails = |spec: Spec| -> Option<Shrunk> {
            let case = Case::generated(spec, storage).ok()?;
            let record = examine(&case, executor, ledger);
            record.deviates().then_some(Shrunk { spec, record })
        };
        let mut tree = self.tree(index)?;
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
    let with = |shape| Spec { shape, ..spec };
    let mut specs: Vec<Spec> = Vec::new();
    specs.extend(sizes(batch, 1).map(|batch| with(Shape { batch, ..spec.shape })));
    specs.extend(sizes(width, 1).map(|width| with(Shape { width, ..spec.shape })));
    specs.extend(sizes(length, 0).map(|length| with(Shape { length, ..spec.shape })));
    let before = |regime: &Regime| *regime != spec.regime;
    specs.extend(Regime::ALL.into_iter().take_while(before).map(|regime| Spec { regime, ..spec }));
    specs
}

enum Job<'a> {
    Golden(&'a (String, Problem)),
    Generated(usize),
}

/// Names of the golden cases that hold an RG-LRU problem.
///
/// # Errors
/// If the manifest cannot be read.
pub fn golden_names() -> Result<Vec<&'static str>, FixtureError> {
    let rglru = |kind| matches!(kind, CaseKind::Rglru | CaseKind::RglruHighPrecision);
    Ok(golden::cases()?.iter().filter(|c| rglru(c.kind)).map(|c| c.name.as_str()).collect())
}

/// One golden case as a kernel gets it: the logits given instead of the projections.
///
/// # Errors
/// If there is no such case or it cannot be read.
pub fn golden_problem(name: &str) -> Result<Problem, CampaignError> {
    Ok(Case::with_given_logits(golden::problem(name, Kind::RglruProjected)?)?)
}

fn golden_problems() -> Result<Vec<(String, Problem)>, CampaignError> {
    golden_names()?.into_iter().map(|name| Ok((name.to_owned(), golden_problem(name)?))).collect()
}
