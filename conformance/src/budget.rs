//! What is allowed: from a declared plan to the plan of the envelope, the rule of one case, and the share of each stage at one element; whether a kernel keeps to it is left to `judge`.

use plumbline_gpu::catalog::{Complement as DeclaredComplement, Declaration, Norm};
use plumbline_reference::{Chain, Complement, NormForm, Problem, Quantity, RoundingPlan, solve};
use serde::Serialize;

use crate::case::Case;
use crate::executor::Subject;
use crate::ledger::Ledger;

/// The envelope's plan for a declaration of the catalogue.
#[must_use]
pub fn declared_plan(declaration: &Declaration) -> RoundingPlan {
    RoundingPlan {
        complement: match declaration.complement {
            DeclaredComplement::Quotient => Complement::Sigmoid,
            DeclaredComplement::Difference => Complement::OneMinus,
        },
        norm_form: match declaration.norm {
            Norm::Expm1 => NormForm::Expm1,
            Norm::Naive => NormForm::Naive,
        },
        ..RoundingPlan::f32().with_chain(Chain::Blocked(declaration.chunk))
    }
}

/// What one case allows one subject.
pub struct Rule<'a> {
    /// Plan of the envelope; exact where equality is demanded.
    pub plan: RoundingPlan,
    subject: &'a Subject,
    regime: &'static str,
    ledger: &'a Ledger,
}

impl<'a> Rule<'a> {
    /// The rule of a subject on a case.
    #[must_use]
    pub fn new(subject: &'a Subject, case: &Case, ledger: &'a Ledger) -> Self {
        let plan = if case.origin.is_exact() { RoundingPlan::exact() } else { subject.plan };
        Self { plan, subject, regime: case.origin.regime_name(), ledger }
    }

    /// Largest ratio allowed to a tensor: 1, or less where the ledger has recorded less.
    #[must_use]
    pub fn limit(&self, quantity: Quantity) -> f64 {
        self.ledger.limit(&self.subject.name, quantity.name(), self.regime)
    }

    /// Whether rounding may decide on the sign of an infinity, see [`crate::measure::Expected`].
    #[must_use]
    pub fn either_infinity(&self) -> bool {
        self.subject.kind.is_complex()
    }

    /// The quantities that must be there.
    #[must_use]
    pub fn quantities(&self) -> &[Quantity] {
        &self.subject.quantities
    }
}

/// A stage's part of the envelope at one element.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Name of the stage.
    pub stage: &'static str,
    /// Envelope with this stage alone rounded.
    pub envelope: f64,
}

/// Envelope at one element with one stage rounded at a time, largest first; stages without a part are left out.
#[must_use]
pub fn shares(problem: &Problem, plan: &RoundingPlan, quantity: Quantity, position: usize) -> Vec<Share> {
    let mut shares: Vec<Share> = stages(plan)
        .into_iter()
        .filter_map(|(stage, plan)| {
            let truth = solve(problem, &plan);
            let envelope = *truth.get(quantity)?.envelope.iter().nth(position)?;
            (envelope > 0.0).then_some(Share { stage, envelope })
        })
        .collect();
    shares.sort_by(|a, b| b.envelope.total_cmp(&a.envelope));
    shares
}

/// One plan a stage, every other stage exact.
fn stages(plan: &RoundingPlan) -> Vec<(&'static str, RoundingPlan)> {
    let exact = RoundingPlan {
        norm_form: plan.norm_form,
        complement: plan.complement,
        function: plan.function,
        depth: plan.depth,
        ..RoundingPlan::exact().with_chain(plan.reduce.chain)
    };
    let mut stages = vec![
        ("gates", RoundingPlan { gates: plan.gates, ..exact }),
        ("decay", RoundingPlan { decay: plan.decay, ..exact }),
        ("norm", RoundingPlan { norm: plan.norm, ..exact }),
        ("products", RoundingPlan { products: plan.products, ..exact }),
        ("boundary", RoundingPlan { boundary: plan.boundary, ..exact }),
        ("carry", RoundingPlan { carry: plan.carry, ..exact }),
        ("saved", RoundingPlan { saved: plan.saved, ..exact }),
        ("reduce", RoundingPlan { reduce: plan.reduce, ..exact }),
        ("projection", RoundingPlan { projection: plan.projection, logits: plan.logits, ..exact }),
    ];
    // A stage that the plan leaves exact has no part, and need not be solved for.
    stages.retain(|(_, plan)| *plan != exact);
    stages
}
