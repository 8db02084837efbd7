//! The pipeline under delays, errors, cancel and panics, with wide and narrow windows.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use super::*;

/// A lane of `left` items, each its own number in the order of all items.
struct Lane {
    next: u64,
    left: u64,
}

/// A delay that follows from its argument and looks random. Most delays are 0.
fn delay(of: u64) {
    let hash = of.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    if hash < 24 {
        std::thread::sleep(Duration::from_micros(hash * 40));
    }
}

/// The counters of a running pipeline.
#[derive(Default)]
struct Seen {
    lanes: AtomicI64,
    most_lanes: AtomicI64,
    works: AtomicI64,
    most_works: AtomicI64,
    put: Mutex<Vec<Vec<u64>>>,
}

/// Sums of seven consecutive numbers, `lanes` lanes of up to 29 items; calls `at(stage, number)` everywhere.
fn sums(
    lanes: u64,
    limits: Limits,
    state: &QueryState,
    seen: &Seen,
    at: &(dyn Fn(&str, u64) -> Result<()> + Sync),
) -> Result<()> {
    let (mut dealt, mut next) = (0, 0);
    let mut open = Vec::new();
    let stages = Stages {
        deal: Box::new(move || {
            if dealt == lanes {
                return Ok(None);
            }
            at("deal", dealt)?;
            let left = dealt * 13 % 30;
            dealt += 1;
            next += left;
            let now = seen.lanes.fetch_add(1, Ordering::SeqCst) + 1;
            seen.most_lanes.fetch_max(now, Ordering::SeqCst);
            Ok(Some(Lane { next: next - left, left }))
        }),
        read: Box::new(|lane| {
            at("read", lane.next)?;
            delay(lane.next);
            if lane.left == 0 {
                seen.lanes.fetch_sub(1, Ordering::SeqCst);
                return Ok(Step::Done);
            }
            lane.left -= 1;
            lane.next += 1;
            Ok(Step::Item(lane.next - 1))
        }),
        weight: |_| 1,
        cut: Box::new(move |piece, works| {
            match piece {
                LaneItem::Item(item) => {
                    at("cut", item)?;
                    open.push(item);
                    if open.len() < 7 {
                        return Ok(());
                    }
                }
                LaneItem::End => {}
            }
            works.push(std::mem::take(&mut open));
            let now = seen.works.fetch_add(1, Ordering::SeqCst) + 1;
            seen.most_works.fetch_max(now, Ordering::SeqCst);
            Ok(())
        }),
        work: Box::new(|work| {
            let first = work.first().copied().unwrap_or(0);
            delay(first + 1_000_000);
            at("work", first).map(|()| work)
        }),
        put: Box::new(|out| {
            at("put", out.first().copied().unwrap_or(0))?;
            seen.works.fetch_sub(1, Ordering::SeqCst);
            seen.put.lock().unwrap().push(out);
            Ok(())
        }),
    };
    run(stages, limits, state)
}

fn all_limits() -> impl Iterator<Item = Limits> {
    let tight = |threads| Limits { threads, lanes: 1, lane_weight: 1, works: 1 };
    let mixed = Limits { threads: 3, lanes: 2, lane_weight: 5, works: 1 };
    (1..6).map(Limits::new).chain((1..5).map(tight)).chain([mixed])
}

#[test]
fn results_are_in_order_and_windows_hold() {
    for limits in all_limits() {
        let (state, seen) = (QueryState::default(), Seen::default());
        sums(60, limits, &state, &seen, &|_, _| Ok(())).unwrap();
        let put = seen.put.into_inner().unwrap();
        let count: u64 = (0..60).map(|i| i * 13 % 30).sum();
        assert_eq!(put.concat(), (0..count).collect::<Vec<_>>(), "{limits:?}");
        assert!(put[..put.len() - 1].iter().all(|work| work.len() == 7));
        // A lane that is read to its end is closed when its last item is cut, a little after it is counted here.
        assert!(seen.most_lanes.into_inner() <= limits.lanes as i64);
        // One piece more may be in the hands of `put`.
        assert!(seen.most_works.into_inner() <= limits.works as i64 + 1);
    }
}

#[test]
fn all_threads_work_for_the_query_of_the_caller() {
    let (state, account) = (QueryState::default(), Account::new(1 << 20));
    let limits = |expected: Option<u64>| {
        assert_eq!(Account::entered().map(|own| own.limit()), expected);
        Ok(())
    };
    let entered = account.enter();
    sums(60, Limits::new(4), &state, &Seen::default(), &|_, _| limits(Some(1 << 20))).unwrap();
    drop(entered);
    sums(60, Limits::new(4), &state, &Seen::default(), &|_, _| limits(None)).unwrap();
}

#[test]
fn no_lanes_still_reach_the_end() {
    let (state, seen) = (QueryState::default(), Seen::default());
    sums(0, Limits::new(3), &state, &seen, &|_, _| Ok(())).unwrap();
    assert_eq!(seen.put.into_inner().unwrap(), [Vec::<u64>::new()]);
}

#[test]
fn an_error_in_any_stage_stops_everything_and_nothing_is_put_after_it() {
    for limits in all_limits() {
        for stage in ["deal", "read", "cut", "work", "put"] {
            let (state, seen) = (QueryState::default(), Seen::default());
            let calls = AtomicUsize::new(0);
            let error = sums(1_000_000, limits, &state, &seen, &|at, _| {
                if at == stage && calls.fetch_add(1, Ordering::SeqCst) >= 9 {
                    return Err(Error::Compute(format!("{stage} failed")));
                }
                Ok(())
            })
            .unwrap_err();
            assert_eq!(error.to_string(), format!("{stage} failed"));
            let put = seen.put.into_inner().unwrap();
            assert_eq!(put.concat(), (0..put.concat().len() as u64).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_cancelled_pipeline_ends() {
    for limits in all_limits() {
        let (state, seen) = (QueryState::default(), Seen::default());
        let error = sums(u64::MAX, limits, &state, &seen, &|at, number| {
            if at == "work" && number > 700 {
                state.cancel();
            }
            Ok(())
        })
        .unwrap_err();
        assert!(matches!(error, Error::Cancelled));
    }
}

#[test]
fn a_panic_in_a_stage_is_an_error() {
    for stage in ["deal", "read", "cut", "work", "put"] {
        for limits in all_limits() {
            let (state, seen) = (QueryState::default(), Seen::default());
            let outcome = sums(u64::MAX, limits, &state, &seen, &|at, _| {
                assert!(at != stage, "on purpose");
                Ok(())
            });
            assert!(matches!(outcome, Err(Error::Panic { text, .. }) if text == "on purpose"), "{stage}");
        }
    }
}

#[test]
fn a_younger_lane_may_wait_for_an_older_one() {
    for limits in all_limits() {
        let state = QueryState::default();
        let reached = AtomicUsize::new(0);
        let put = Mutex::new(Vec::new());
        let mut dealt = 0;
        let stages = Stages {
            deal: Box::new(|| {
                dealt += 1;
                Ok((dealt <= 12).then_some((dealt - 1, false)))
            }),
            read: Box::new(|(number, given)| {
                if *given {
                    return Ok(Step::Done);
                }
                if reached.load(Ordering::SeqCst) < *number {
                    return Ok(Step::Wait);
                }
                delay(*number as u64);
                reached.fetch_add(1, Ordering::SeqCst);
                *given = true;
                Ok(Step::Item(*number))
            }),
            weight: |_| 1,
            cut: Box::new(|piece, works| {
                if let LaneItem::Item(item) = piece {
                    works.push(item);
                }
                Ok(())
            }),
            work: Box::new(Ok),
            put: Box::new(|out| {
                put.lock().unwrap().push(out);
                Ok(())
            }),
        };
        run(stages, limits, &state).unwrap();
        assert_eq!(put.into_inner().unwrap(), (0..12).collect::<Vec<_>>());
    }
}
