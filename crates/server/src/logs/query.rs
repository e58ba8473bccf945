//! Filters and searches log lines.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader};

use milepost_client::api::LogEntry;
use milepost_model::{AppName, Timestamp};

use super::files::Files;

#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub function: Option<String>,
    pub number: Option<i64>,
    pub request: Option<String>,
    pub since: Option<Timestamp>,
    pub limit: usize,
}

impl Filter {
    pub(crate) fn takes(&self, entry: &LogEntry) -> bool {
        self.function.as_ref().is_none_or(|function| *function == entry.function)
            && self.number.is_none_or(|number| number == entry.number)
            && self.request.as_ref().is_none_or(|request| Some(request) == entry.request.as_ref())
            && self.since.is_none_or(|since| entry.at >= since)
    }
}

/// Reads segments, newest first, until enough lines are found.
pub(super) fn find(files: &Files, app: &AppName, filter: &Filter) -> std::io::Result<Vec<LogEntry>> {
    let mut found: VecDeque<LogEntry> = VecDeque::new();
    for path in files.segments(app)? {
        if found.len() >= filter.limit {
            break;
        }
        let room = filter.limit - found.len();
        let mut of_segment: VecDeque<LogEntry> = VecDeque::new();
        let file = match File::open(path) {
            Ok(file) => file,
            // The oldest segment may be deleted during the search.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for line in BufReader::new(file).split(b'\n') {
            // Skips lines truncated by a crash.
            let Ok(entry) = serde_json::from_slice::<LogEntry>(&line?) else { continue };
            if filter.takes(&entry) {
                if of_segment.len() == room {
                    of_segment.pop_front();
                }
                of_segment.push_back(entry);
            }
        }
        of_segment.append(&mut found);
        found = of_segment;
    }
    Ok(found.into())
}
