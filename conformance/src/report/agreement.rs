//! Whether two executors of one kernel gave the same bits, case by case; which of them is right is not asked here.

use std::collections::BTreeMap;
use std::fmt;

use crate::examine::Record;

/// How far two executors of one kernel agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// The kernel.
    pub kernel: String,
    /// The executors, in order of appearance.
    pub executors: [String; 2],
    /// Tensors that both computed.
    pub tensors: usize,
    /// Those whose bits are equal.
    pub equal: usize,
    /// The first that differs: case and tensor.
    pub first_difference: Option<(String, &'static str)>,
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &self.executors;
        let (kernel, equal, tensors) = (&self.kernel, self.equal, self.tensors);
        write!(f, "{kernel}: {equal} of {tensors} tensors have the same bits on {a} and {b}")?;
        match &self.first_difference {
            Some((case, tensor)) => write!(f, "; first difference: {tensor} of {case}"),
            None => Ok(()),
        }
    }
}

/// Every kernel's second executor against its first; empty where each kernel ran in one place.
#[must_use]
pub fn agreements(records: &[Record]) -> Vec<Agreement> {
    let mut first: BTreeMap<(&str, &str), &Record> = BTreeMap::new();
    let mut agreements: Vec<Agreement> = Vec::new();
    for record in records {
        let other = *first.entry((&record.kernel, &record.case_id)).or_insert(record);
        if other.executor == record.executor {
            continue;
        }
        let executors = [other.executor.clone(), record.executor.clone()];
        let place = agreements.iter().position(|a| a.kernel == record.kernel && a.executors == executors);
        let place = place.unwrap_or_else(|| {
            let kernel = record.kernel.clone();
            agreements.push(Agreement { kernel, executors, tensors: 0, equal: 0, first_difference: None });
            agreements.len() - 1
        });
        compare(&mut agreements[place], other, record);
    }
    agreements
}

fn compare(agreement: &mut Agreement, a: &Record, b: &Record) {
    for (one, two) in a.tensors.iter().zip(&b.tensors) {
        agreement.tensors += 1;
        if one.bits == two.bits {
            agreement.equal += 1;
        } else if agreement.first_difference.is_none() {
            agreement.first_difference = Some((b.origin.clone(), two.quantity.name()));
        }
    }
}
