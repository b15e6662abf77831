//! Which threads of a program are left. In a program of its own, since all tests share the threads.

#![cfg(target_os = "linux")]

use mebridge_support::threads::{keep, run, start};
use std::sync::Barrier;

/// Counts the helpers of this program.
fn helpers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("the threads of this program");
    let names = tasks.map(|task| {
        let name = task.expect("a thread").path().join("comm");
        std::fs::read_to_string(name).unwrap_or_default()
    });
    names
        .filter(|name| name.trim_end() == "mebridge-helper")
        .count()
}

/// Counts them once there are no more than `most`. The system lists a thread for a moment after it has been joined.
fn helpers_left(most: usize) -> usize {
    let mut count = helpers();
    for _ in 0..10_000 {
        if count <= most {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
        count = helpers();
    }
    count
}

/// Works with this number of helpers at the same time, and returns how many there are then.
fn work(count: usize) -> usize {
    let all = Barrier::new(count + 1);
    let seen = std::sync::Mutex::new(0);
    run(count, &|number| {
        all.wait();
        if number == 0 {
            *seen.lock().expect("no panic") = helpers();
        }
        all.wait();
    });
    seen.into_inner().expect("no panic")
}

#[test]
fn idle_threads_end_with_the_last_guard() {
    assert_eq!((work(2), helpers_left(0)), (2, 0));
    let engine = start(3).expect("threads");
    assert_eq!(helpers(), 3);
    assert_eq!((work(2), helpers()), (3, 3));
    // Another engine has the same threads, as long as no two calls are concurrent.
    let other = start(2).expect("threads");
    assert_eq!(helpers(), 3);
    assert_eq!((work(7), helpers_left(5)), (7, 5));
    drop(engine);
    assert_eq!(helpers_left(2), 2);
    let generator = keep(2);
    drop(other);
    assert_eq!((work(2), helpers()), (2, 2));
    drop(generator);
    assert_eq!(helpers_left(0), 0);
    drop(start(0));
    assert_eq!(helpers(), 0);
}
