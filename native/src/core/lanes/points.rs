//! Eight points of the curve behind ristretto255 at once.

use core::arch::x86_64::*;

use super::eight::all;
use super::fence::LANES;
use super::field::{D, Field, INVERSE_ROOT, ROOT, Stored, TWICE_D};

/// Points in extended coordinates: x = X / Z, y = Y / Z, x y = T / Z.
#[derive(Clone, Copy)]
pub struct Eight {
    x: Field,
    y: Field,
    z: Field,
    t: Field,
}

/// Points as they are added: y + x, y - x and 2 d x y, with z = 1.
#[derive(Clone, Copy)]
pub struct Addend {
    pub plus: Field,
    pub minus: Field,
    pub product: Field,
}

/// Coordinates as they lie in memory.
pub type StoredPoints = [Stored; 4];

impl Eight {
    /// The neutral element.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn zero() -> Self {
        let (zero, one) = (Field::zero(), Field::one());
        Self { x: zero, y: one, z: one, t: zero }
    }

    /// Points from memory.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn load([x, y, z, t]: &StoredPoints) -> Self {
        Self { x: Field::load(x), y: Field::load(y), z: Field::load(z), t: Field::load(t) }
    }

    /// Write them.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn store(&self, [x, y, z, t]: &mut StoredPoints) {
        self.x.store(x);
        self.y.store(y);
        self.z.store(z);
        self.t.store(t);
    }

    /// The sums.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn plus(&self, other: &Self) -> Self {
        let addend = Addend {
            plus: other.y.plus(&other.x),
            minus: other.y.minus(&other.x),
            product: other.t.times(&Field::repeated(&TWICE_D)),
        };
        self.added(&addend, &self.z.times(&other.z))
    }

    /// The sums with points that are ready for it.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn plus_addend(&self, addend: &Addend) -> Self {
        self.added(addend, &self.z)
    }

    /// The same, where `z` is the product of both last coordinates.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    fn added(&self, addend: &Addend, z: &Field) -> Self {
        let a = self.y.minus(&self.x).times(&addend.minus);
        let b = self.y.plus(&self.x).times(&addend.plus);
        let c = self.t.times(&addend.product);
        let d = z.plus(z);
        completed(&b.minus(&a), &d.minus(&c), &d.plus(&c), &b.plus(&a))
    }

    /// The doubles.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn doubled(&self) -> Self {
        let (a, b, c) = (self.x.squared(), self.y.squared(), self.z.squared());
        let h = a.plus(&b);
        let e = h.minus(&self.x.plus(&self.y).squared());
        let g = a.minus(&b);
        completed(&e, &c.plus(&c).plus(&g), &g, &h)
    }

    /// These points as addends, with the inverses of their last coordinates.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn addend(&self, inverse: &Field) -> Addend {
        let (x, y) = (self.x.times(inverse), self.y.times(inverse));
        let product = x.times(&y).times(&Field::repeated(&TWICE_D));
        Addend { plus: y.plus(&x), minus: y.minus(&x), product }
    }

    /// The last coordinates.
    pub fn z(&self) -> &Field {
        &self.z
    }

    /// The points of valid encodings (RFC 9496, section 4.3.1, without its checks).
    #[target_feature(enable = "avx512ifma")]
    pub fn decoded(encodings: &[[u8; 32]; LANES]) -> Self {
        let s = Field::from_bytes(encodings);
        let (square, one) = (s.squared(), Field::one());
        let (u1, u2) = (one.minus(&square), one.plus(&square));
        let u2_square = u2.squared();
        let v = u1.squared().times(&Field::repeated(&D)).negative().minus(&u2_square);
        let root = v.times(&u2_square).inverse_root();
        let den_x = root.times(&u2);
        let den_y = root.times(&den_x).times(&v);
        let x = s.plus(&s).times(&den_x).absolute();
        let y = u1.times(&den_y);
        Self { x, y, z: one, t: x.times(&y) }
    }

    /// Their encodings (RFC 9496, section 4.3.2).
    #[target_feature(enable = "avx512ifma")]
    pub fn encoded(&self) -> [[u8; 32]; LANES] {
        let Self { x, y, z, t } = self;
        let u1 = z.plus(y).times(&z.minus(y));
        let u2 = x.times(y);
        let root = u1.times(&u2.squared()).inverse_root();
        let (den1, den2) = (root.times(&u1), root.times(&u2));
        let z_inverse = den1.times(&den2).times(t);
        let turn = Field::repeated(&ROOT);
        let rotate = t.times(&z_inverse).is_negative();
        let turned = den1.times(&Field::repeated(&INVERSE_ROOT));
        let (ix, iy) = (x.times(&turn), y.times(&turn));
        let (x, y, den) = (x.or(&iy, rotate), y.or(&ix, rotate), den2.or(&turned, rotate));
        let y = y.or(&y.negative(), x.times(&z_inverse).is_negative());
        den.times(&z.minus(&y)).absolute().to_bytes()
    }
}

#[target_feature(enable = "avx512ifma")]
#[inline]
fn completed(e: &Field, f: &Field, g: &Field, h: &Field) -> Eight {
    Eight { x: e.times(f), y: g.times(h), z: f.times(g), t: e.times(h) }
}

impl Addend {
    /// The neutral element where the mask has a 1.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn or_zero(&self, mask: __mmask8) -> Self {
        let (zero, one) = (Field::zero(), Field::one());
        Self {
            plus: self.plus.or(&one, mask),
            minus: self.minus.or(&one, mask),
            product: self.product.or(&zero, mask),
        }
    }

    /// The negatives where the mask has a 1.
    #[target_feature(enable = "avx512ifma")]
    #[inline]
    pub fn negated(&self, mask: __mmask8) -> Self {
        Self {
            plus: self.plus.or(&self.minus, mask),
            minus: self.minus.or(&self.plus, mask),
            product: self.product.or(&self.product.negative(), mask),
        }
    }
}

/// Words of registers by an index: the instruction takes the same time for all of them.
#[target_feature(enable = "avx512ifma")]
#[inline]
pub fn chosen(low: __m512i, high: __m512i, index: __m512i) -> __m512i {
    _mm512_permutex2var_epi64(low, index, high)
}

/// Where bit `BIT` of an index is 1.
#[target_feature(enable = "avx512ifma")]
#[inline]
pub fn bit<const BIT: u64>(index: __m512i) -> __mmask8 {
    _mm512_test_epi64_mask(index, all(1 << BIT))
}
