//! How batches are cut.

use _native::core::fault::Fault;
use _native::core::workers::{Workers, set_threads, threads};

#[test]
fn every_item_is_visited_once_whatever_the_cut() {
    for (workers, len) in
        [1, 2, 3].into_iter().flat_map(|n| [0, 1, 7, 100].map(|len| (Workers::fixed(n, 4), len)))
    {
        let mut out = vec![0usize; len];
        workers.fill(&mut out, |start, piece| {
            piece.iter_mut().enumerate().for_each(|(i, slot)| *slot += start + i + 1);
        });
        assert_eq!(out, (1..=len).collect::<Vec<_>>());
        let visited: Vec<usize> = workers.map(len, |range| range).into_iter().flatten().collect();
        assert_eq!(visited, (0..len).collect::<Vec<_>>());
    }
}

#[test]
fn the_number_of_threads_is_bounded() {
    assert!(threads() >= 1);
    for count in [0, 1025, usize::MAX] {
        assert!(matches!(set_threads(count), Err(Fault::Usage(_))));
    }
    set_threads(3).expect("a good number");
    assert_eq!(threads(), 3);
    assert_eq!(Workers::for_batch(100, 10).count(), 3);
    assert_eq!(Workers::for_batch(19, 10).count(), 1, "too little work for two");
    set_threads(1).expect("a good number");
    assert_eq!(Workers::for_batch(100, 10).count(), 1);
}
