//! Log files: a few segments per app with one JSON object per line. Creating a segment deletes the
//! oldest.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use milepost_model::AppName;

use super::News;

const SEGMENT: u64 = 8 << 20;
const SEGMENTS: u64 = 4;

pub(super) struct Files {
    folder: PathBuf,
    open: Mutex<HashMap<AppName, Segment>>,
}

struct Segment {
    number: u64,
    file: File,
    size: u64,
}

impl Files {
    pub(super) fn open(folder: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        Ok(Self { folder, open: Mutex::default() })
    }

    pub(super) fn append(&self, lines: &[Arc<News>]) -> io::Result<()> {
        let mut by_app: HashMap<&AppName, Vec<u8>> = HashMap::new();
        for line in lines {
            let bytes = by_app.entry(&line.app).or_default();
            serde_json::to_writer(&mut *bytes, &line.entry)?;
            bytes.push(b'\n');
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for (app, bytes) in by_app {
            let segment = match open.remove(app) {
                Some(segment) if segment.size < SEGMENT => segment,
                Some(full) => self.next(app, full.number + 1)?,
                None => self.newest(app)?,
            };
            let segment = open.entry(app.clone()).or_insert(segment);
            segment.file.write_all(&bytes)?;
            segment.size += bytes.len() as u64;
        }
        Ok(())
    }

    /// The app's segments, newest first.
    pub(super) fn segments(&self, app: &AppName) -> io::Result<Vec<PathBuf>> {
        Ok(self.numbers(app)?.into_iter().rev().map(|number| self.path(app, number)).collect())
    }

    fn newest(&self, app: &AppName) -> io::Result<Segment> {
        let number = self.numbers(app)?.last().copied().unwrap_or(1);
        fs::create_dir_all(self.folder.join(app.as_str()))?;
        let file = OpenOptions::new().create(true).append(true).open(self.path(app, number))?;
        let size = file.metadata()?.len();
        if size >= SEGMENT { self.next(app, number + 1) } else { Ok(Segment { number, file, size }) }
    }

    fn next(&self, app: &AppName, number: u64) -> io::Result<Segment> {
        let file = OpenOptions::new().create(true).append(true).open(self.path(app, number))?;
        for old in self.numbers(app)?.into_iter().filter(|old| old + SEGMENTS <= number) {
            fs::remove_file(self.path(app, old))?;
        }
        Ok(Segment { number, file, size: 0 })
    }

    fn path(&self, app: &AppName, number: u64) -> PathBuf {
        self.folder.join(app.as_str()).join(format!("{number:08}.ndjson"))
    }

    /// Segment numbers, oldest first.
    fn numbers(&self, app: &AppName) -> io::Result<Vec<u64>> {
        let entries = match fs::read_dir(self.folder.join(app.as_str())) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".ndjson"));
            numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}
