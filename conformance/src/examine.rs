//! One case in, one record out: the same straight line for the tests, `gate`, `check` and `replay`.

use plumbline_reference::{RoundingPlan, Truth, solve};
use serde::Serialize;

use crate::budget::Rule;
use crate::case::Case;
use crate::executor::Executor;
use crate::judge::{TensorRecord, Verdict, judge};
use crate::ledger::Ledger;

/// What is kept of one examination.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// Kernel name.
    pub kernel: String,
    /// Where the numbers were computed.
    pub executor: String,
    /// Content hash of the case.
    pub case_id: String,
    /// What to replay.
    pub origin: String,
    /// The command line that does it.
    pub again: String,
    /// Regime, `golden` or `file`.
    pub regime: &'static str,
    /// B, L, W, see [`Case::extents`].
    pub shape: [usize; 3],
    /// Type of the large tensors.
    pub storage: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// Figures of every tensor compared.
    pub tensors: Vec<TensorRecord>,
    /// Components of states so near the kink of a ReLU that rounding decides on which side they are: their cotangent
    /// is in the envelope.
    pub undecided: usize,
}

/// Solves, runs, measures and judges one case.
#[must_use]
pub fn examine(case: &Case, executor: &dyn Executor, ledger: &Ledger) -> Record {
    examine_known(&mut Known::new(case), executor, ledger)
}

/// A case and what is known of its truth: one solution for each plan, however many executors declare it.
pub struct Known<'a> {
    case: &'a Case,
    truths: Vec<(RoundingPlan, Truth)>,
}

impl<'a> Known<'a> {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(case: &'a Case) -> Self {
        Self { case, truths: Vec::new() }
    }

    /// The case.
    #[must_use]
    pub fn case(&self) -> &'a Case {
        self.case
    }

    fn truth(&mut self, plan: &RoundingPlan) -> &Truth {
        let place = self.truths.iter().position(|(known, _)| known == plan).unwrap_or_else(|| {
            self.truths.push((*plan, solve(&self.case.problem, plan)));
            self.truths.len() - 1
        });
        &self.truths[place].1
    }
}

/// The same as [`examine`], for several executors on one case.
#[must_use]
pub fn examine_known(known: &mut Known<'_>, executor: &dyn Executor, ledger: &Ledger) -> Record {
    let case = known.case;
    let subject = executor.subject();
    let rule = Rule::new(subject, case, ledger);
    let outcome = executor.run(case);
    let truth = known.truth(&rule.plan);
    let judgement = judge(truth, &outcome, &rule);
    let undecided = truth.undecided();
    Record {
        kernel: subject.name.clone(),
        executor: executor.place(),
        case_id: case.id.clone(),
        origin: case.origin.to_string(),
        again: executor.again(&case.origin.to_string()),
        regime: case.origin.regime_name(),
        shape: case.extents(),
        storage: case.storage.name(),
        verdict: judgement.verdict,
        tensors: judgement.tensors,
        undecided,
    }
}

impl Record {
    /// Elements compared.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.tensors.iter().map(|t| t.measure.elements - t.measure.unbounded).sum()
    }

    /// Whether something is wrong.
    #[must_use]
    pub fn deviates(&self) -> bool {
        matches!(self.verdict, Verdict::Deviates(_))
    }
}
