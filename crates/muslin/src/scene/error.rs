//! A mistake in a scene, told so that a person can mend it: file, line, what, and what to do.

use std::fmt;
use std::path::PathBuf;

/// A mistake in a scene or in a file it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneError {
    /// The file with the mistake, if it is in a file.
    pub file: Option<PathBuf>,
    /// Line in that file, from 1.
    pub line: Option<usize>,
    /// Column in that line, from 1.
    pub column: Option<usize>,
    /// The offending line's text and the width of the marked part.
    pub excerpt: Option<(String, usize)>,
    /// Dotted path of the key.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub remedy: String,
}

impl SceneError {
    /// A mistake that is not tied to a key.
    pub fn new(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::at("", problem, remedy)
    }

    /// A mistake in the value of `key`; the loader finds its line.
    pub fn at(
        key: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            file: None,
            line: None,
            column: None,
            excerpt: None,
            key: key.into(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    /// Marks a byte range of a text as the place.
    pub fn mark(&mut self, text: &str, span: std::ops::Range<usize>) {
        let start = span.start.min(text.len());
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        self.line = Some(before.matches('\n').count() + 1);
        self.column = Some(text[line_start..start].chars().count() + 1);
        let line = text[line_start..].lines().next().unwrap_or("");
        let end = span.end.min(line_start + line.len()).max(start);
        self.excerpt = Some((line.to_string(), text[start..end].chars().count().max(1)));
    }
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.problem)?;
        if !self.key.is_empty() {
            write!(f, "\n   key: {}", self.key)?;
        }
        if let Some(file) = &self.file {
            write!(f, "\n    at: {}", file.display())?;
            if let (Some(line), Some(column)) = (self.line, self.column) {
                write!(f, ":{line}:{column}")?;
            }
        }
        if let (Some((text, width)), Some(column)) = (&self.excerpt, self.column) {
            write!(
                f,
                "\n      | {text}\n      | {}{}",
                " ".repeat(column - 1),
                "^".repeat(*width)
            )?;
        }
        if !self.remedy.is_empty() {
            write!(f, "\nremedy: {}", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for SceneError {}
