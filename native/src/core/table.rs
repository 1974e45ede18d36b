//! Exact integer tables: which row of a cumulative table does a uniform value hit?

use super::fault::Fault;

/// A cumulative table F_0 = 0 < F_1 < ... < F_J = 2^width.
pub struct Table {
    inner: Vec<u64>,
    width: u32,
}

impl Table {
    /// Checks the shape of the table. 63 bits leave room for the sign used in comparing.
    pub fn new(cumulative: &[u64], width: usize) -> Result<Self, Fault> {
        if !(1..=63).contains(&width) {
            return Err(Fault::usage(format!("a table has 1 to 63 bits, not {width}")));
        }
        if cumulative.first() != Some(&0) || cumulative.last() != Some(&(1 << width)) {
            return Err(Fault::usage(format!("a cumulative table runs from 0 to 2^{width}")));
        }
        if !cumulative.is_sorted_by(|a, b| a < b) {
            return Err(Fault::usage("a cumulative table increases strictly: remove empty rows"));
        }
        Ok(Self { inner: cumulative[1..cumulative.len() - 1].to_vec(), width: width as u32 })
    }

    /// Bits of the uniform values.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The row i with F_i <= value < F_{i+1}.
    ///
    /// Looks at every row whatever the value is: neither the time nor the memory
    /// accesses depend on it. Both operands are below 2^63, so the top bit of the
    /// difference is the comparison.
    pub fn row(&self, value: u64) -> u64 {
        self.inner.iter().map(|&bound| 1 ^ (value.wrapping_sub(bound) >> 63)).sum()
    }
}
