//! One case in, one record out: the same straight line for the tests, `gate`, `check` and `replay`.

use plumbline_reference::solve;
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
    /// Regime, `golden` or `file`.
    pub regime: &'static str,
    /// B, L, W.
    pub shape: [usize; 3],
    /// Type of the large tensors.
    pub storage: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// Figures of every tensor compared.
    pub tensors: Vec<TensorRecord>,
}

/// Solves, runs, measures and judges one case.
#[must_use]
pub fn examine(case: &Case, executor: &dyn Executor, ledger: &Ledger) -> Record {
    let subject = executor.subject();
    let rule = Rule::new(subject, case, ledger);
    let truth = solve(&case.problem, &rule.plan);
    let outcome = executor.run(case);
    let judgement = judge(&truth, &outcome, &rule);
    Record {
        kernel: subject.name.clone(),
        executor: executor.place(),
        case_id: case.id.clone(),
        origin: case.origin.to_string(),
        regime: case.origin.regime_name(),
        shape: case.problem.shape().tokens(),
        storage: case.storage.name(),
        verdict: judgement.verdict,
        tensors: judgement.tensors,
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
