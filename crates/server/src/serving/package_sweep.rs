//! Removes packages that are no longer needed from the local disk. Their files stay in the blob
//! store, and the next call that needs them fetches them again.
//!
//! There is no reference count. A caller requests a package only once it has a pool, so the sweep
//! makes new callers wait and then looks for the package among the pools: if no pool has it, it is
//! unused.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use milepost_model::Digest;

use super::packages::{Cell, Packages};

impl Packages {
    /// Removes packages that were not used within `unused`, unless an app's view needs them or
    /// `running` names them. `running` returns the packages that functions run from at that moment.
    /// A package that cannot be removed does not stop the others.
    pub(crate) async fn sweep(&self, unused: Duration, running: impl Fn() -> HashSet<Digest>) -> io::Result<u64> {
        if !self.needs_told.load(Ordering::Relaxed) {
            return Ok(0);
        }
        // Two concurrent sweeps would replace each other's cell of a package, and the package could
        // be opened in between.
        let _alone = self.sweeping.lock().await;
        let folder = self.folder.clone();
        let now = SystemTime::from(self.store.catalog.now());
        let Some(before) = now.checked_sub(unused) else { return Ok(0) };
        let old = tokio::task::spawn_blocking(move || last_used_before(&folder, before)).await??;
        let mut removed = 0;
        for root in old {
            match self.remove(root, now, before, &running).await {
                Ok(went) => removed += u64::from(went),
                Err(error) => tracing::warn!(%error, package = %root, "a package stays on the disk"),
            }
        }
        Ok(removed)
    }

    async fn remove(
        &self,
        root: Digest,
        now: SystemTime,
        before: SystemTime,
        running: impl Fn() -> HashSet<Digest>,
    ) -> io::Result<bool> {
        let (place, away) = (self.folder.join(root.hex()), self.staged());
        let closed = Cell::default();
        self.known().insert(root, Arc::clone(&closed));
        let mut outcome = Ok(false);
        let opened = closed.get_or_try_init(|| async {
            // Callers wait until this closure ends, find the cell empty, and check the disk
            // themselves.
            let needs = self.needs();
            if running().contains(&root) || needs.is_needed(root) {
                outcome = mark_used(&place, now).map(|()| false);
            } else if is_older(&place, before) {
                // Renames while `needs` is locked, so that no view starts to need the package and
                // assumes it is here.
                outcome = fs::rename(&place, &away).map(|()| true);
            }
            Err(())
        });
        let somebody_asked = opened.await.is_ok();
        self.forget(root, &closed);
        if !somebody_asked && outcome? {
            tokio::task::spawn_blocking(move || fs::remove_dir_all(away)).await??;
            return Ok(true);
        }
        Ok(false)
    }

    /// Removes the cell, unless a caller holds it or it has been replaced.
    fn forget(&self, root: Digest, closed: &Cell) {
        let mut known = self.known();
        let is_ours = known.get(&root).is_some_and(|cell| Arc::ptr_eq(cell, closed) && !cell.initialized());
        if is_ours && Arc::strong_count(closed) == 2 {
            known.remove(&root);
        }
    }
}

/// Records the use in the directory's modification time, which survives a restart.
pub(super) fn mark_used(place: &Path, now: SystemTime) -> io::Result<()> {
    fs::File::open(place)?.set_modified(now)
}

fn is_older(place: &Path, before: SystemTime) -> bool {
    fs::metadata(place).and_then(|facts| facts.modified()).is_ok_and(|used| used < before)
}

fn last_used_before(folder: &Path, before: SystemTime) -> io::Result<Vec<Digest>> {
    let mut old = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Skips directories that are not named after a digest.
        let name = entry.file_name();
        let root: Option<Digest> = name.to_str().and_then(|name| format!("sha256:{name}").parse().ok());
        old.extend(root.filter(|_| is_older(&entry.path(), before)));
    }
    Ok(old)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::AtomicUsize;

    use milepost_model::AppName;

    use super::*;
    use crate::{Server, Settings};

    struct Ground {
        data: tempfile::TempDir,
        packages: Arc<Packages>,
        _server: Server,
    }

    impl Ground {
        async fn new() -> Self {
            let data = tempfile::tempdir().expect("a folder");
            let mut settings = Settings::new(data.path().to_owned(), ([127, 0, 0, 1], 0).into());
            settings.spares = Some(0);
            let server = Server::start(settings).await.expect("a server");
            let packages = Arc::clone(&server.installs_due().0.plane.packages);
            packages.all_needs_are_told();
            Self { data, packages, _server: server }
        }

        /// Puts a complete package on the disk.
        fn bring(&self, name: &str) -> (Digest, PathBuf) {
            let root = Digest::of(name.as_bytes());
            let (beside, place) = (self.data.path().join("beside"), self.packages.folder.join(root.hex()));
            fs::create_dir_all(beside.join("inner")).expect("a folder");
            fs::write(beside.join("inner/main.py"), "").expect("a file");
            fs::rename(beside, &place).expect("it is brought");
            (root, place)
        }

        async fn sweep(&self, unused: Duration, running: &[Digest]) -> u64 {
            let running = || running.iter().copied().collect();
            self.packages.sweep(unused, running).await.expect("it sweeps")
        }
    }

    const DAY: Duration = Duration::from_secs(86_400);

    #[tokio::test]
    async fn sweeps_old_packages_that_are_neither_running_nor_needed() {
        let ground = Ground::new().await;
        let [(old, old_place), (running, running_place), (needed, needed_place), (fresh, fresh_place)] =
            ["old", "running", "needed", "fresh"].map(|name| ground.bring(name));
        let now = SystemTime::from(ground.packages.store.catalog.now());
        for place in [&old_place, &running_place, &needed_place, &fresh_place] {
            mark_used(place, now - 2 * DAY).expect("its time");
        }
        assert_eq!(ground.packages.get(fresh).await.expect("it is there").files, 1);
        let app: AppName = "shop".parse().expect("a name");
        ground.packages.need(&app, HashSet::from([needed]));

        assert_eq!(ground.sweep(DAY, &[running]).await, 1);
        assert!(!old_place.exists() && running_place.exists() && needed_place.exists() && fresh_place.exists());
        assert!(ground.packages.get(old).await.is_err(), "it has to be brought again");
        assert!(ground.packages.get(running).await.is_ok());
        ground.packages.need(&app, HashSet::new());
        assert_eq!(ground.sweep(DAY, &[]).await, 0, "they were of use a moment ago");
        for place in [&running_place, &needed_place] {
            mark_used(place, now - 2 * DAY).expect("its time");
        }
        assert_eq!(ground.sweep(DAY, &[]).await, 2);
        assert!(!running_place.exists() && !needed_place.exists() && fresh_place.exists());
        let left = fs::read_dir(ground.packages.folder.join("staging")).expect("a folder").count();
        assert_eq!(left, 0, "nothing is left half removed");
        assert_eq!(ground.sweep(DAY, &[]).await, 0);
    }

    /// Requests the package several times. Counts as a user from before each request until it is
    /// done, like a pool.
    async fn use_it(ground: Arc<Ground>, root: Digest, users: Arc<AtomicUsize>) -> usize {
        let mut uses = 0;
        for _ in 0..3 {
            users.fetch_add(1, Ordering::SeqCst);
            if let Ok(package) = ground.packages.get(root).await {
                for _ in 0..3 {
                    assert!(package.folder.join("inner/main.py").exists(), "it was removed while in use");
                    tokio::task::yield_now().await;
                }
                uses += 1;
            }
            users.fetch_sub(1, Ordering::SeqCst);
        }
        uses
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn invariant_5_running_packages_are_never_removed() {
        let ground = Arc::new(Ground::new().await);
        let users = Arc::new(AtomicUsize::new(0));
        let mut uses = 0;
        for _ in 0..50 {
            let root = ground.bring("shared").0;
            let asking = [(); 3].map(|()| tokio::spawn(use_it(Arc::clone(&ground), root, Arc::clone(&users))));
            let running = || (users.load(Ordering::SeqCst) > 0).then_some(root).into_iter().collect();
            // Ends once the users are done, at the latest.
            while ground.packages.sweep(Duration::ZERO, running).await.expect("it sweeps") == 0 {
                tokio::task::yield_now().await;
            }
            for task in asking {
                uses += task.await.expect("no task failed");
            }
        }
        assert!(uses > 0, "it was never there in time");
    }
}
