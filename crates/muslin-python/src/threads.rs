//! Threads for functions that belong to no simulation.

use pyo3::PyResult;
use pyo3::exceptions::PyValueError;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// More than any machine has use for.
const MOST_THREADS: usize = 1024;

/// Pools by process and number of threads.
type Pools = BTreeMap<(u32, usize), Arc<ThreadPool>>;

/// A pool of so many threads, 0 for as many as there are cores; kept, for starting threads takes longer than most calls.
/// Forked processes, such as those of Python's `multiprocessing`, inherit the list but not the threads.
pub fn pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    static POOLS: OnceLock<Mutex<Pools>> = OnceLock::new();
    if threads > MOST_THREADS {
        return Err(PyValueError::new_err(format!(
            "{threads} threads are more than any machine has use for; ask for at most {MOST_THREADS}"
        )));
    }
    let pools = POOLS.get_or_init(Mutex::default);
    let mut pools = pools.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (std::process::id(), threads);
    if let Some(pool) = pools.get(&key) {
        return Ok(pool.clone());
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| PyValueError::new_err(format!("threads could not be started: {e}")))?;
    let pool = Arc::new(pool);
    pools.insert(key, pool.clone());
    Ok(pool)
}
