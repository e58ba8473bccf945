//! A Markdown page as the parts that matter to the tour.
//!
//! - ```` ```console ```` blocks hold commands after `$ ` and their output.
//! - ```` ```sh ```` blocks are run as a whole, and must succeed.
//! - `<!-- file: PATH -->` before a block makes it a file.
//! - `<!-- not run: REASON -->` before a block leaves it out.
//! - `<!-- run`, commands, `-->` run without being shown.

#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    pub parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// Lines that are only shown.
    Text(Vec<String>),
    File {
        path: String,
        body: String,
        lines: Vec<String>,
    },
    Hidden {
        commands: String,
        lines: Vec<String>,
    },
    Console {
        steps: Vec<Step>,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    pub command: String,
    pub output: Vec<String>,
}

impl Page {
    pub fn parse(text: &str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let mut parts = Vec::new();
        // What stands before the next block: the last line with text.
        let mut before = "";
        let mut at = 0;
        while let Some(&line) = lines.get(at) {
            let fence = line.strip_prefix("```");
            let length = match (fence, line) {
                (Some(_), _) => until(&lines[at + 1..], "```"),
                (None, "<!-- run") => until(&lines[at + 1..], "-->"),
                (None, _) => 0,
            };
            let block = &lines[at..(at + length + 1).min(lines.len())];
            let inside = block.get(1..block.len().saturating_sub(1)).unwrap_or_default();
            let shown: Vec<String> = block.iter().map(ToString::to_string).collect();
            let file = before.strip_prefix("<!-- file: ").and_then(|rest| rest.strip_suffix(" -->"));
            match (fence, file) {
                (Some(_), _) if before.starts_with("<!-- not run") => parts.push(Part::Text(shown)),
                (Some(_), Some(path)) => {
                    parts.push(Part::File { path: path.to_owned(), body: joined(inside), lines: shown });
                }
                (Some("console"), None) => {
                    parts.push(Part::Text(vec![line.to_owned()]));
                    parts.push(Part::Console { steps: steps(inside) });
                    parts.push(Part::Text(vec!["```".to_owned()]));
                }
                (Some("sh"), None) => parts.push(Part::Hidden { commands: joined(inside), lines: shown }),
                (None, _) if line == "<!-- run" => {
                    parts.push(Part::Hidden { commands: joined(inside), lines: shown });
                }
                _ => parts.push(Part::Text(shown)),
            }
            if fence.is_some() {
                before = "";
            } else if !line.is_empty() {
                before = line;
            }
            at += length + 1;
        }
        Self { parts }
    }

    pub fn render(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(lines) | Part::File { lines, .. } | Part::Hidden { lines, .. } => text += &joined(lines),
                Part::Console { steps } => {
                    for step in steps {
                        text += &format!("$ {}\n{}", step.command, joined(&step.output));
                    }
                }
            }
        }
        text
    }

    pub fn commands(&self) -> usize {
        let of = |part: &Part| match part {
            Part::Console { steps } => steps.len(),
            Part::Hidden { .. } => 1,
            Part::Text(_) | Part::File { .. } => 0,
        };
        self.parts.iter().map(of).sum()
    }
}

/// How many lines there are up to the one that is `end`, itself included.
fn until(lines: &[&str], end: &str) -> usize {
    lines.iter().position(|line| *line == end).map_or(lines.len(), |at| at + 1)
}

fn joined(lines: &[impl AsRef<str>]) -> String {
    lines.iter().map(|line| format!("{}\n", line.as_ref())).collect()
}

fn steps(lines: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in lines {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), output: Vec::new() }),
            (None, Some(step)) if step.command.ends_with('\\') => {
                step.command += "\n";
                step.command += line;
            }
            (None, Some(step)) => step.output.push((*line).to_owned()),
            (None, None) => {}
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# A page

<!-- run
mkdir a
-->
<!-- file: a/b.py -->
```python
pass
```

```console
$ milepost install \\
    --yes
Installed.
$ milepost status
Error: no
```

<!-- not run: needs a network -->
```sh
rsync
```
";

    #[test]
    fn finds_commands_files_and_output() {
        let page = Page::parse(PAGE);
        assert_eq!(page.commands(), 3);
        let files: Vec<&Part> = page.parts.iter().filter(|part| matches!(part, Part::File { .. })).collect();
        assert!(matches!(files[..], [Part::File { path, body, .. }] if path == "a/b.py" && body == "pass\n"));
        let Some(Part::Console { steps }) = page.parts.iter().find(|part| matches!(part, Part::Console { .. })) else {
            panic!("no commands");
        };
        assert_eq!(steps[0].command, "milepost install \\\n    --yes");
        assert_eq!(steps[1].output, ["Error: no"]);
    }

    #[test]
    fn renders_what_it_read() {
        assert_eq!(Page::parse(PAGE).render(), PAGE);
    }
}
