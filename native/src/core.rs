//! Arithmetic without Python.

pub mod bounded_msm;
pub mod buckets;
pub mod codec;
pub mod cpu;
pub mod equality;
pub mod fault;
pub mod fixed_bases;
pub mod gates;
pub mod hedged;
pub mod lanes;
pub mod msm;
pub mod points;
pub mod residues;
pub mod scalars;
pub mod shake;
pub mod stream;
pub mod tables;
pub mod vartime;
pub mod wide;
pub mod wide_draws;
pub mod workers;
