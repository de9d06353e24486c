//! The registers of one warp: banks of 32-lane rows, and typed views of them; nothing here knows instructions.

use super::operation::Bank;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// Every lane.
pub(crate) const FULL: u32 = u32::MAX;

/// One register over a warp. Aligned so that no vector of the host straddles a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Row<T>(pub(crate) [T; LANES]);

/// Registers of up to 32 bits (narrower ones zero-extended), of 64 bits, and predicates as lane masks.
#[derive(Clone, Debug)]
pub(crate) struct Registers {
    pub(crate) narrow: Vec<Row<u32>>,
    pub(crate) wide: Vec<Row<u64>>,
    pub(crate) predicates: Vec<u32>,
    /// Lanes that were assigned, kept only for rows that could not be proven assigned.
    assigned: [Vec<u32>; 3],
}

impl Registers {
    pub(crate) fn new([narrow, wide, predicates]: [usize; 3]) -> Self {
        Self {
            narrow: vec![Row([0; LANES]); narrow],
            wide: vec![Row([0; LANES]); wide],
            predicates: vec![0; predicates],
            assigned: [vec![0; narrow], vec![0; wide], vec![0; predicates]],
        }
    }

    pub(crate) fn forget(&mut self) {
        self.assigned.iter_mut().for_each(|bank| bank.fill(0));
    }

    pub(crate) fn assigned(&mut self, bank: Bank, row: u16) -> &mut u32 {
        &mut self.assigned[bank as usize][usize::from(row)]
    }

    /// The value of one lane, zero-extended.
    pub(crate) fn lane(&self, bank: Bank, row: u16, lane: usize) -> u64 {
        match bank {
            Bank::Narrow => u64::from(self.narrow[usize::from(row)].0[lane]),
            Bank::Wide => self.wide[usize::from(row)].0[lane],
            Bank::Predicate => u64::from(self.predicates[usize::from(row)] >> lane & 1),
        }
    }

    /// Sets one lane, dropping what does not fit.
    #[expect(clippy::cast_possible_truncation, reason = "the bank says how many bits there are")]
    pub(crate) fn set_lane(&mut self, bank: Bank, row: u16, lane: usize, value: u64) {
        match bank {
            Bank::Narrow => self.narrow[usize::from(row)].0[lane] = value as u32,
            Bank::Wide => self.wide[usize::from(row)].0[lane] = value,
            Bank::Predicate => {
                let bits = &mut self.predicates[usize::from(row)];
                *bits = *bits & !(1 << lane) | ((value & 1) as u32) << lane;
            }
        }
    }
}

/// A type that a register can be read as.
pub(crate) trait Value: Copy {
    type Cell: Copy + Default;
    fn bank(registers: &Registers) -> &[Row<Self::Cell>];
    fn bank_mut(registers: &mut Registers) -> &mut [Row<Self::Cell>];
    fn of(cell: Self::Cell) -> Self;
    fn cell(self) -> Self::Cell;
}

macro_rules! value {
    ($type:ty, $cell:ty, $bank:ident, $of:expr, $to:expr) => {
        impl Value for $type {
            type Cell = $cell;
            #[inline(always)]
            fn bank(registers: &Registers) -> &[Row<$cell>] {
                &registers.$bank
            }
            #[inline(always)]
            fn bank_mut(registers: &mut Registers) -> &mut [Row<$cell>] {
                &mut registers.$bank
            }
            #[inline(always)]
            fn of(cell: $cell) -> Self {
                let of: fn($cell) -> Self = $of;
                of(cell)
            }
            #[inline(always)]
            fn cell(self) -> $cell {
                let to: fn(Self) -> $cell = $to;
                to(self)
            }
        }
    };
}

value!(u32, u32, narrow, |c| c, |v| v);
value!(i32, u32, narrow, u32::cast_signed, i32::cast_unsigned);
value!(f32, u32, narrow, f32::from_bits, f32::to_bits);
value!(u64, u64, wide, |c| c, |v| v);
value!(i64, u64, wide, u64::cast_signed, i64::cast_unsigned);
value!(f64, u64, wide, f64::from_bits, f64::to_bits);
value!(u16, u32, narrow, low_half, u32::from);
value!(i16, u32, narrow, |c| low_half(c).cast_signed(), |v| u32::from(v.cast_unsigned()));

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a 16-bit register is the low half of its cell")]
const fn low_half(cell: u32) -> u16 {
    cell as u16
}
