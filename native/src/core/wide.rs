//! Draws of 128-bit precision from symmetric tables: which row does a uniform value hit?

use super::fault::Fault;

/// Stream bytes behind one draw.
pub const DRAW_BYTES: usize = 16;
/// The middle of the range. A table lists bounds up to it, the rest follows by symmetry.
const HALF: u128 = 1 << 127;

/// A table of the values -radius ..= radius with bounds F_0 = 0, .., F_J = 2^128, where
/// J = 2 radius + 1 and F_{J-i} = 2^128 - F_i.
pub struct WideTable {
    /// F_1 ..= F_radius, then as many times 2^127 as make the length a power of two less one.
    bounds: Vec<u128>,
    radius: usize,
}

impl WideTable {
    /// From F_1 ..= F_radius. Equal bounds make rows that are never drawn.
    pub fn new(lower: Vec<u128>) -> Result<Self, Fault> {
        let radius = lower.len();
        if !(1..=i32::MAX as usize).contains(&radius) {
            return Err(Fault::usage("a wide table has at least one and below 2^31 lower bounds"));
        }
        if lower[0] == 0 || lower[radius - 1] > HALF || !lower.is_sorted() {
            return Err(Fault::usage(
                "the lower bounds of a wide table rise from 1 or more to at most 2^127",
            ));
        }
        let mut bounds = lower;
        bounds.resize((radius + 1).next_power_of_two() - 1, HALF);
        Ok(Self { bounds, radius })
    }

    /// The largest value.
    pub fn radius(&self) -> usize {
        self.radius
    }

    /// Comparisons that one draw of `searched` takes.
    pub fn depth(&self) -> usize {
        (self.bounds.len() + 1).ilog2() as usize
    }

    /// The value of a draw, by comparing it with every row: neither the time nor the
    /// addresses that are read depend on it.
    pub fn scanned(&self, draw: u128) -> i64 {
        let folded = fold(draw);
        let rows = &self.bounds[..self.radius];
        self.value(rows.iter().map(|&bound| not_below(folded, bound)).sum(), draw)
    }

    /// The values of N draws, by a search of `depth` steps without branches: the time
    /// does not depend on the draws, the addresses that are read do. The steps of one
    /// draw wait for each other, those of different draws do not.
    pub fn searched<const N: usize>(&self, draws: &[u128; N]) -> [i64; N] {
        let folded = draws.map(fold);
        let mut counts = [0usize; N];
        let mut step = self.bounds.len().div_ceil(2);
        while step > 0 {
            for (count, &draw) in counts.iter_mut().zip(&folded) {
                // A product: compilers turn a mask in its place into a branch.
                *count += step * not_below(draw, self.bounds[*count + step - 1]) as usize;
            }
            step /= 2;
        }
        std::array::from_fn(|lane| self.value(counts[lane] as u64, draws[lane]))
    }

    /// The value of a draw whose mirror image in the lower half is not below `count` bounds.
    fn value(&self, count: u64, draw: u128) -> i64 {
        let below = count as i64 - self.radius as i64;
        let upper = top_bits(draw) as i64;
        (below ^ upper) - upper
    }
}

/// All ones for a draw in the upper half, else zero.
fn top_bits(draw: u128) -> u128 {
    (draw.cast_signed() >> 127).cast_unsigned()
}

/// The draw, or for one of the upper half its mirror image 2^128 - 1 - y.
fn fold(draw: u128) -> u128 {
    draw ^ top_bits(draw)
}

/// 1 if `bound` <= `draw`, else 0. The draw is below 2^127 and the bound at most 2^127,
/// so the top bit of the difference is the comparison.
fn not_below(draw: u128, bound: u128) -> u64 {
    1 ^ (draw.wrapping_sub(bound) >> 127) as u64
}
