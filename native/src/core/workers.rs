//! Worker threads for large batches, safe across `fork()`.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, mem, process, thread};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::fault::Fault;
use super::lanes::Lanes;

const MOST_THREADS: usize = 1024;
const VARIABLE: &str = "GOPA_THREADS";

/// 0 until first used or set.
static THREADS: AtomicUsize = AtomicUsize::new(0);
static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

struct Shared {
    process: u32,
    threads: usize,
    pool: Arc<ThreadPool>,
}

/// The threads one batch may use, and how finely to cut it.
pub struct Workers {
    pool: Option<Arc<ThreadPool>>,
    grain: usize,
    portable: bool,
}

impl Workers {
    /// No other threads.
    pub const INLINE: Self = Self { pool: None, grain: usize::MAX, portable: false };

    /// Workers for a batch that is cut into pieces of at least `grain` items.
    ///
    /// Call it only while attached to the interpreter: the lock inside must not be
    /// held by another thread at the moment of a fork.
    pub fn for_batch(items: usize, grain: usize) -> Self {
        if items / 2 < grain {
            return Self::INLINE;
        }
        Self { pool: shared_pool(threads()), grain, portable: false }
    }

    /// Exactly this many threads and pieces of at least `grain` items.
    pub fn fixed(threads: usize, grain: usize) -> Self {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().ok().map(Arc::new);
        Self { pool, grain: grain.max(1), portable: false }
    }

    /// The same, with portable code alone.
    pub fn without_lanes(self) -> Self {
        Self { portable: true, ..self }
    }

    /// Lanes, where this machine has them.
    pub fn lanes(&self) -> Option<Lanes> {
        Lanes::here().filter(|_| !self.portable)
    }

    /// How many threads take part.
    pub fn count(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Run `work(start, piece)` over consecutive pieces of `out`.
    pub fn fill<T: Send>(&self, out: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
        let Some(pool) = &self.pool else { return work(0, out) };
        let size = self.grain.max(out.len().div_ceil(4 * self.count())).max(1);
        pool.install(|| {
            out.par_chunks_mut(size).enumerate().for_each(|(i, piece)| work(i * size, piece));
        });
    }

    /// The results of `work` on consecutive ranges that cover `0..len`, one per thread.
    pub fn map<T: Send>(&self, len: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let Some(pool) = &self.pool else { return vec![work(0..len)] };
        let size = self.grain.max(len.div_ceil(self.count())).max(1);
        let starts: Vec<usize> = (0..len).step_by(size).collect();
        pool.install(|| starts.par_iter().map(|&s| work(s..len.min(s + size))).collect())
    }
}

/// The number of threads large batches use: `GOPA_THREADS`, else every core.
pub fn threads() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => thread::available_parallelism().map_or(1, usize::from),
        set => set,
    }
}

/// Use this many threads from now on.
pub fn set_threads(count: usize) -> Result<(), Fault> {
    if !(1..=MOST_THREADS).contains(&count) {
        return Err(Fault::usage(format!("use between 1 and {MOST_THREADS} threads, not {count}")));
    }
    THREADS.store(count, Ordering::Relaxed);
    Ok(())
}

/// Take over the limit from the environment, if there is one.
pub fn read_environment() -> Result<(), Fault> {
    let Some(value) = env::var_os(VARIABLE).filter(|v| !v.is_empty()) else { return Ok(()) };
    let count = value.to_str().and_then(|v| v.parse::<usize>().ok()).unwrap_or(0);
    set_threads(count).map_err(|_| {
        Fault::usage(format!("{VARIABLE} must be a whole number from 1 to {MOST_THREADS}"))
    })
}

fn shared_pool(threads: usize) -> Option<Arc<ThreadPool>> {
    if threads < 2 {
        return None;
    }
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = &*shared
        && known.process == process::id()
        && known.threads == threads
    {
        return Some(Arc::clone(&known.pool));
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().ok()?);
    let new = Shared { process: process::id(), threads, pool: Arc::clone(&pool) };
    if let Some(old) = shared.replace(new)
        && old.process != process::id()
    {
        // After a fork the parent's threads do not exist here, and dropping their
        // pool would wait on locks that nobody can release.
        mem::forget(old);
    }
    Some(pool)
}
