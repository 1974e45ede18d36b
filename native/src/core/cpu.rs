//! Which code path the curve arithmetic takes on this machine.

/// Four field elements at a time with 52-bit multiplications.
pub const AVX512: &str = "avx512ifma";
/// Four field elements at a time.
pub const AVX2: &str = "avx2";
/// Portable code.
pub const SERIAL: &str = "serial";

/// Compiled in because asked for, or because the whole build is for such a CPU.
#[cfg(target_arch = "x86_64")]
const HAS_AVX512: bool = cfg!(any(
    curve25519_dalek_backend = "avx512",
    all(
        not(any(curve25519_dalek_backend = "simd", curve25519_dalek_backend = "serial")),
        target_feature = "avx512ifma",
        target_feature = "avx512vl",
    ),
));
#[cfg(target_arch = "x86_64")]
const HAS_AVX2: bool = cfg!(not(curve25519_dalek_backend = "serial"));

/// The backend curve25519-dalek selects at run time.
///
/// Mirrors the library's own choice, which it does not report.
pub fn backend() -> &'static str {
    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
    {
        if HAS_AVX512
            && std::arch::is_x86_feature_detected!("avx512ifma")
            && std::arch::is_x86_feature_detected!("avx512vl")
        {
            return AVX512;
        }
        if HAS_AVX2 && std::arch::is_x86_feature_detected!("avx2") {
            return AVX2;
        }
    }
    SERIAL
}
